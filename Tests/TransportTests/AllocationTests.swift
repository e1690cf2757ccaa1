import Foundation
import Media
import Testing

@testable import Transport

/// Nothing of ours allocates for a message. The count is taken in a child process, by an interposed `malloc` that looks at
/// who calls: allocations from Swift come through libswiftCore, those that libsrt makes for itself through libstdc++.
struct AllocationTests {
    static let messages = 10_000
    private static let variable = "BURNISH_COUNT_ALLOCATIONS"

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
        """

    @Test func messagesCostNoAllocation() throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("burnish-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let source = folder.appendingPathComponent("count.c")
        let library = folder.appendingPathComponent("count.so")
        try Self.interposer.write(to: source, atomically: true, encoding: .utf8)
        let compiled = try run("/usr/bin/env", ["clang", "-O1", "-shared", "-fPIC", "-o", library.path, source.path, "-ldl"])
        try #require(compiled.status == 0, "\(compiled.output)")
        let (status, output) = try runChild("AllocationProbe", [Self.variable: "1", "LD_PRELOAD": library.path])
        // libsrt was used and the process ended cleanly.
        #expect(status == 0, "\(output)")
        let counts = output.split(separator: "\n").filter { $0.hasPrefix("allocations ") }
        #expect(counts.count == 9, "\(output)")
        for line in counts {
            // That it counts at all is part of the test.
            #expect(line.hasSuffix(": 0") != line.contains("control"), "\(line) in \(Self.messages) messages")
        }
    }


    /// The child's part.
    @Suite(.serialized, .enabled(if: ProcessInfo.processInfo.environment[variable] != nil)) struct AllocationProbe {
        @Test(arguments: ["early", "tsbpd", "udp", "rtp"]) func count(kind: String) throws {
            let begin = try symbol("burnish_count", (@convention(c) (Int32) -> Void).self)
            let counted = try symbol("burnish_counted_swift", (@convention(c) () -> Int).self)
            let isSRT = kind == "early" || kind == "tsbpd"
            let source = try Source(
                StreamURL(isSRT ? "srt://127.0.0.1:0?mode=listener&latency=20&ingest=\(kind)" : "\(kind)://127.0.0.1:0"))
            let sink = try Sink(StreamURL("\(isSRT ? "srt" : kind)://127.0.0.1:\(source.localPort)"))
            try sink.awaitConnection(until: .now() + Reader.patience)
            let warmUp = 500
            let total = warmUp + AllocationTests.messages
            let sender = StageThread(name: "sender") {
                let message = UnsafeMutableRawBufferPointer.allocate(byteCount: 1316, alignment: 16)
                let start = MonotonicTime.now()
                var before = 0
                for i in 0..<total {
                    if i == warmUp {
                        before = counted()
                        begin(1)
                    }
                    (start + .microseconds(Int64(i) * 200)).sleep()
                    _ = sink.send(UnsafeRawBufferPointer(message), sourceTime: .now())
                }
                begin(0)
                print("allocations \(kind) sending: \(counted() - before)")
                message.deallocate()
            }
            let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Message.largest, alignment: 16)
            let before = counted()
            var received = 0
            let limit = MonotonicTime.now() + Reader.patience
            // A loss on the way is not this test's business.
            var quiet = 0
            while received < total && quiet < 40 && .now() < limit {
                switch source.receive(into: buffer, until: .now() + .milliseconds(50)) {
                case .message:
                    received += 1
                    quiet = 0
                    if received == warmUp { begin(1) }
                case .idle: quiet += received > 0 ? 1 : 0
                case .event, .end, .failed: break
                }
            }
            begin(0)
            print("allocations \(kind) receiving: \(counted() - before)")
            #expect(received > total / 2)
            sender.join()
            buffer.deallocate()
            fflush(nil)
        }

        @Test func control() throws {
            let begin = try symbol("burnish_count", (@convention(c) (Int32) -> Void).self)
            let counted = try symbol("burnish_counted_swift", (@convention(c) () -> Int).self)
            let before = counted()
            begin(1)
            let bytes = numbered(1)
            begin(0)
            print("allocations control: \(counted() - before)")
            #expect(bytes.count == 1316)
        }

        private func symbol<Function>(_ name: String, _: Function.Type) throws -> Function {
            unsafeBitCast(try #require(dlsym(nil, name)), to: Function.self)
        }
    }
}
