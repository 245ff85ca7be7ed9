# Everything comes from Debian 12 (deploy/install-deps.sh). Order matters: Protobuf in module mode
# (there is no config file), before gRPC.
find_package(Threads REQUIRED)
find_package(Protobuf REQUIRED)
find_package(gRPC CONFIG REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(RocksDB CONFIG REQUIRED)
find_package(GTest CONFIG REQUIRED)
find_package(fmt CONFIG REQUIRED)
find_package(spdlog CONFIG REQUIRED)
find_package(prometheus-cpp CONFIG REQUIRED)
find_package(Eigen3 CONFIG REQUIRED)
find_package(nlohmann_json CONFIG REQUIRED)
find_package(CLI11 CONFIG REQUIRED)
find_library(HTTPLIB_LIBRARY cpp-httplib REQUIRED)

find_program(SYNCLINE_GRPC_CPP_PLUGIN grpc_cpp_plugin REQUIRED)
