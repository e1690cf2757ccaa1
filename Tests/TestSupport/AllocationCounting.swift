import Foundation

/// Counts heap allocations of single threads, in a child process whose `malloc` is interposed. In a process without that
/// there is none to be had.
public struct AllocationCounting: Sendable {
    private let setCounting: @convention(c) (Int32) -> Void
    private let countedSwift: @convention(c) () -> Int
    private let countedOthers: @convention(c) () -> Int

    /// tools/check/count_allocations.c, which the checks of the running programs use too.
    private static let interposer = URL(filePath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appending(path: "tools/check/count_allocations.c")

    /// False under the address and the thread sanitizer, whose own `malloc` is in the way.
    public static let isPossible = dlsym(nil, "__asan_init") == nil && dlsym(nil, "__tsan_init") == nil

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
        let library = folder.appendingPathComponent("count.so")
        let arguments = ["clang", "-O1", "-shared", "-fPIC", "-o", library.path, interposer.path, "-ldl"]
        let compiled = try run("/usr/bin/env", arguments)
        guard compiled.status == 0 else { return compiled }
        return try TestSupport.runChild(suite, environment.merging(["LD_PRELOAD": library.path]) { $1 })
    }
}
