// psctl: looks into a Syncline cluster. README.md beside this file.
#include <iostream>
#include <string>
#include <vector>

#include "worker/client/admin_client.h"
#include "worker/psctl/app.h"

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return static_cast<int>(
      syncline::psctl::RunPsctl(arguments, syncline::ConnectAdmin, std::cout, std::cerr));
}
