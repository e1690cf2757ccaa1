import Foundation

/// Counts heap allocations of single threads, in a child process whose `malloc` is interposed. In a process without that
/// there is none to be had.
public struct AllocationCounting: Sendable {
    private let setCounting: @convention(c) (Int32) -> Void
    private let countedSwift: @convention(c) () -> Int
    private let countedOthers: @convention(c) () -> Int

    private static let interposer = """
        #define _GNU_SOURCE
        #include <dlfcn.h>
        #include <stdatomic.h>
        #include <stddef.h>
        #include <string.h>
        static _Thread_local int counting; static _Thread_local long swift, others;
        void *__libc_malloc(size_t); void *__libc_calloc(size_t, size_t); void *__libc_memalign(size_t, size_t);
        static void count(void *caller) {
            if (!counting) return;
            counting = 0;
            Dl_info info;
            if (dladdr(caller, &info) && strstr(info.dli_fname, "libswift")) swift++; else others++;
            counting = 1;
        }
        void *malloc(size_t n) { count(__builtin_return_address(0)); return __libc_malloc(n); }
        void *calloc(size_t m, size_t n) { count(__builtin_return_address(0)); return __libc_calloc(m, n); }
        void *aligned_alloc(size_t a, size_t n) { count(__builtin_return_address(0)); return __libc_memalign(a, n); }
        int posix_memalign(void **p, size_t a, size_t n) { count(__builtin_return_address(0)); *p = __libc_memalign(a, n); return 0; }
        void burnish_count(int on) { counting = on; }
        long burnish_counted_swift(void) { return swift; }
        long burnish_counted_others(void) { return others; }
        """

    /// Nil in a process that was not started by ``runChild(_:_:)``.
    public init?() {
        func symbol<Function>(_ name: String, _: Function.Type) -> Function? {
            dlsym(nil, name).map { unsafeBitCast($0, to: Function.self) }
        }
        guard let setCounting = symbol("burnish_count", (@convention(c) (Int32) -> Void).self),
            let countedSwift = symbol("burnish_counted_swift", (@convention(c) () -> Int).self),
            let countedOthers = symbol("burnish_counted_others", (@convention(c) () -> Int).self)
        else { return nil }
        self.setCounting = setCounting
        self.countedSwift = countedSwift
        self.countedOthers = countedOthers
    }

    /// The calling thread's allocations count from here on.
    public func begin() { setCounting(1) }
    /// They do not any more.
    public func end() { setCounting(0) }

    /// What the calling thread has allocated through Swift's runtime while it counted, and in any other way.
    public var bySwift: Int { countedSwift() }
    public var byOthers: Int { countedOthers() }

    /// Runs one suite of this test program in a process of its own, in which allocations can be counted.
    public static func runChild(_ suite: String, _ environment: [String: String]) throws -> (status: Int32, output: String) {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("burnish-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let source = folder.appendingPathComponent("count.c")
        let library = folder.appendingPathComponent("count.so")
        try interposer.write(to: source, atomically: true, encoding: .utf8)
        let arguments = ["clang", "-O1", "-shared", "-fPIC", "-o", library.path, source.path, "-ldl"]
        let compiled = try run("/usr/bin/env", arguments)
        guard compiled.status == 0 else { return compiled }
        return try TestSupport.runChild(suite, environment.merging(["LD_PRELOAD": library.path]) { $1 })
    }
}
