// Names for clang's thread-safety analysis (-Wthread-safety); nothing under other compilers.
// https://clang.llvm.org/docs/ThreadSafetyAnalysis.html
#ifndef SYNCLINE_COMMON_THREAD_ANNOTATIONS_H_
#define SYNCLINE_COMMON_THREAD_ANNOTATIONS_H_

#if defined(__clang__)
#define SYNCLINE_THREAD_ATTRIBUTE(x) __attribute__((x))
#else
#define SYNCLINE_THREAD_ATTRIBUTE(x)
#endif

// Abseil's headers define three of the names, with the same meaning, when they come first.
#undef GUARDED_BY
#undef PT_GUARDED_BY
#undef NO_THREAD_SAFETY_ANALYSIS

// On a field: read and written only while the mutex is held. PT_: what the pointer points to.
#define GUARDED_BY(mutex) SYNCLINE_THREAD_ATTRIBUTE(guarded_by(mutex))
#define PT_GUARDED_BY(mutex) SYNCLINE_THREAD_ATTRIBUTE(pt_guarded_by(mutex))
// On a function: called with the mutex held, or never with it held.
#define REQUIRES(...) SYNCLINE_THREAD_ATTRIBUTE(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) SYNCLINE_THREAD_ATTRIBUTE(locks_excluded(__VA_ARGS__))
// On a function that takes or releases the mutex and returns so.
#define ACQUIRE(...) SYNCLINE_THREAD_ATTRIBUTE(acquire_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) SYNCLINE_THREAD_ATTRIBUTE(try_acquire_capability(__VA_ARGS__))
#define RELEASE(...) SYNCLINE_THREAD_ATTRIBUTE(release_capability(__VA_ARGS__))
// On classes that are a mutex, or hold one for their lifetime.
#define CAPABILITY(name) SYNCLINE_THREAD_ATTRIBUTE(capability(name))
#define SCOPED_CAPABILITY SYNCLINE_THREAD_ATTRIBUTE(scoped_lockable)
// On a function whose locking the analysis cannot follow; say why beside it.
#define NO_THREAD_SAFETY_ANALYSIS SYNCLINE_THREAD_ATTRIBUTE(no_thread_safety_analysis)

#endif  // SYNCLINE_COMMON_THREAD_ANNOTATIONS_H_
