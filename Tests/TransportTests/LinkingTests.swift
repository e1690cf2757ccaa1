import Endpoint
import Foundation
import TestSupport
import Testing
@testable import Transport

/// libavformat brings Debian's other build of libsrt into the process. What we call must be the one that is linked
/// statically, and ours must not be seen by libavformat: two that answer to the same names crash at exit.
struct LinkingTests {
    /// The dynamic symbols of a 64-bit ELF file (System V ABI, "Symbol Table").
    private struct DynamicSymbols {
        var undefined: [String] = []
        var defined: [String] = []

        init(of path: String) throws {
            let file = try Data(contentsOf: URL(fileURLWithPath: path), options: .alwaysMapped)
            func integer<Value: FixedWidthInteger>(_ offset: Int, _: Value.Type) -> Int {
                Int(file[offset..<offset + MemoryLayout<Value>.size].reversed().reduce(Value(0)) { $0 << 8 | Value($1) })
            }
            try #require(file.prefix(5) == Data([0x7f, 0x45, 0x4c, 0x46, 2]), "\(path) is a 64-bit ELF file")
            let sections = integer(40, UInt64.self)
            let size = integer(58, UInt16.self)
            let dynamicSymbols = 11
            for index in 0..<integer(60, UInt16.self) {
                let header = sections + index * size
                guard integer(header + 4, UInt32.self) == dynamicSymbols else { continue }
                let names = integer(sections + integer(header + 40, UInt32.self) * size + 24, UInt64.self)
                let start = integer(header + 24, UInt64.self)
                for symbol in stride(from: start, to: start + integer(header + 32, UInt64.self), by: 24) {
                    let name = file[(names + integer(symbol, UInt32.self))...].prefix { $0 != 0 }
                    let text = String(decoding: name, as: UTF8.self)
                    if integer(symbol + 6, UInt16.self) == 0 { undefined.append(text) } else { defined.append(text) }
                }
            }
        }
    }

    /// This test's own program, and the ones that are built beside it.
    private static var programs: [String] {
        let own = CommandLine.arguments[0]
        let command = URL(fileURLWithPath: own).deletingLastPathComponent().appendingPathComponent("burnish").path
        return [own] + (FileManager.default.fileExists(atPath: command) ? [command] : [])
    }

    private static let variable = "BURNISH_EXIT_WITH_LIVE_LEGS"

    /// A process may end while its legs are connected. The child must not run this test again: its filter names the
    /// child's part only, and the test is off there.
    @Test(.disabled(if: ProcessInfo.processInfo.environment[variable] != nil))
    func anExitWithConnectedLegsIsClean() throws {
        let (status, output) = try runChild("LinkingTests.LiveLegs", [Self.variable: "1"])
        #expect(status == 23, "\(output)")
    }

    /// The child's part.
    @Suite(.enabled(if: ProcessInfo.processInfo.environment[variable] != nil)) struct LiveLegs {
        @Test func leave() throws {
            let reader = try Reader("srt://127.0.0.1:0?mode=listener")
            let sink = try Sink(StreamURL("srt://127.0.0.1:\(reader.source.localPort)"))
            #expect(reader.awaitConnection() != nil)
            #expect(sink.awaitPeer())
            exit(23)
        }
    }

    @Test func theProgramsLibsrtIsItsOwn() throws {
        for program in Self.programs {
            let symbols = try DynamicSymbols(of: program)
            #expect(!symbols.undefined.isEmpty, "\(program) has dynamic symbols")
            #expect(symbols.undefined.filter { $0.hasPrefix("srt_") } == [], "\(program) calls a libsrt that it loads")
            #expect(symbols.defined.filter { $0.hasPrefix("srt_") } == [], "\(program) shows its libsrt to others")
        }
    }
}
