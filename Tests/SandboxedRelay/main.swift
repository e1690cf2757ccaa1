// A relay under the worker's sandbox, for tests: sandboxed-relay INPUT OUTPUT. It ends when its standard input does.
import Endpoint
import Glibc
import Media
import Relay
import Settings
import Transport
import Worker

func say(_ text: String) { _ = write(2, text + "\n", text.utf8.count + 1) }

do {
    let protection = try Sandbox.enter()
    say("landlock \(protection.landlock)")
    let (input, output) = (CommandLine.arguments[1], CommandLine.arguments[2])
    var configuration = RelayConfiguration(input: try StreamURL(input), output: try StreamURL(output))
    configuration.settings.budget = .seconds(60)
    configuration.settings.interpolate = 2
    let relay = try Relay(configuration)
    say("input \(relay.inputPort) output \(relay.outputPort)")
    let end = StageThread(name: "end") {
        var byte: UInt8 = 0
        while read(0, &byte, 1) > 0 {}
        relay.stop()
    }
    let report = try relay.run { observation in
        switch observation {
        case .event(let event): say("\(event)")
        case .second:
            relay.requestPicture(.after, width: 160) { answer in
                if case .success(let picture) = answer { say("jpeg \(picture.jpeg.count)") }
            }
        }
    }
    end.detach()
    say("originals \(report.frames.originals) emitted \(report.frames.emitted) balance \(report.frames.balance)")
} catch {
    say("\(error)")
    exit(1)
}
