import Enhance
import Media
import Offline
import Telemetry

/// What became of one file of several.
struct FileOutcome: Encodable {
    var input: String
    var output: String
    var report: FileEnhancementReport?
    var error: String?

    /// One line: what, where, and what to do.
    var cutOff: String {
        "\(input) ends too soon: the \(report?.picturesIn ?? 0) pictures that came were written to \(output); get the whole file "
            + "for the rest"
    }
}

extension FileEnhancementReport {
    /// The stages that pictures went through, in order.
    var stages: [(name: String, time: Quantiles)] {
        var stages = [(name: "decoding", time: decode)]
        for kind in StepKind.allCases {
            let time =
                switch kind {
                case .enlarge: enlarge
                case .synthesise: synthesise
                default: steps.first { $0.name == kind.name }?.time
                }
            if let time { stages.append((kind.facts.doing, time)) }
        }
        stages.append(("encoding", encode))
        return stages.filter { $0.time.count > 0 }
    }
}
