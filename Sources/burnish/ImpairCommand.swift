import ArgumentParser
import Endpoint
import Glibc
import Measure
import Media

struct ImpairCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "impair",
        abstract: "Forwards UDP datagrams in both directions like a bad network: loses, delays and reorders them, repeatably.")

    @Option(help: "Port to listen on, on 127.0.0.1. With 0 the system chooses a free one, which is printed.")
    var listen: UInt16

    @Option(help: "Where to forward datagrams to, as host:port.")
    var to: String

    @Option(help: "Share of the datagrams to lose in each direction, e.g. 3%.")
    var loss = ShareArgument(0)

    @Option(help: "Delay added in each direction.")
    var delay = TimeArgument(.zero)

    @Option(help: "The most random delay to add. The order stays the same.")
    var jitter = TimeArgument(.zero)

    @Option(help: "Share of the datagrams to hold back for --reorder-by, so that later ones overtake them.")
    var reorder = ShareArgument(0)

    @Option(help: "How long to hold them back.")
    var reorderBy = TimeArgument(.milliseconds(10))

    @Option(help: "Speed of the link, e.g. 5M. Without it there is no limit.")
    var rate: BitRateArgument?

    @Option(help: "How long datagrams may queue for a limited link before they are lost.")
    var queue = TimeArgument(.milliseconds(200))

    @Option(
        parsing: .singleValue,
        help: "Forward nothing from a time after the start on, for a time, as START+LENGTH: 10s+2s. May be given several times."
    )
    var blackout: [BlackoutArgument] = []

    @Option(help: "Seed of the random numbers. The same seed treats the same datagrams alike.")
    var seed: UInt64 = 1

    @Option(help: "How long to run. Without it, until SIGINT or SIGTERM.")
    var duration: TimeArgument?

    @Flag(help: "Print the counts as JSON at the end.")
    var json = false

    private struct Report: Encodable {
        let forwarded: Int64
        let lost: Int64
    }

    func run() throws {
        StopRequest.install()
        var settings = ImpairmentSettings()
        settings.loss = loss.value
        settings.delay = delay.value
        settings.jitter = jitter.value
        settings.reorder = reorder.value
        settings.reorderBy = reorderBy.value
        settings.rate = rate.map { Double($0.value) }
        settings.queue = queue.value
        settings.blackouts = blackout.map(\.value)
        settings.seed = seed
        let proxy: ImpairmentProxy
        do throws(TransportError) {
            guard case .udp(let target) = try StreamURL("udp://\(to)"), target.port != 0 else {
                throw TransportError(.badURL, place: to, "give host:port")
            }
            proxy = try ImpairmentProxy(port: listen, to: target, settings: settings)
        } catch {
            throw Failure.exit(error)
        }
        StandardError.line("burnish: 127.0.0.1:\(proxy.localPort) -> \(to)")
        let end = duration.map { MonotonicTime.now() + $0.value }
        while !StopRequest.isMade {
            if let end, MonotonicTime.now() >= end { break }
            usleep(50_000)
        }
        let counts = proxy.counts
        let report = Report(forwarded: counts.forwarded, lost: counts.lost)
        print(json ? try report.json() : "\(report.forwarded) datagrams forwarded, \(report.lost) lost")
    }
}

/// A share: `3%`, `0.5%`. A number without the sign is refused, because 3 and 0.03 are easily confused.
struct ShareArgument: ExpressibleByArgument {
    var value: Double

    init(_ value: Double) { self.value = value }

    init?(argument: String) {
        guard argument.hasSuffix("%"), let percent = Double(argument.dropLast()), (0...100).contains(percent) else {
            return nil
        }
        value = percent / 100
    }

    var defaultValueDescription: String { "\(value * 100)%" }
}

/// A time after the start and a length: `10s+2s`.
struct BlackoutArgument: ExpressibleByArgument {
    var value: Range<Nanoseconds>

    init?(argument: String) {
        let parts = argument.split(separator: "+", omittingEmptySubsequences: false)
        guard parts.count == 2, let start = TimeArgument(argument: String(parts[0])),
            let length = TimeArgument(argument: String(parts[1]))
        else { return nil }
        value = start.value..<(start.value + length.value)
    }
}
