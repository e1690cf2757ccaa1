import Relay
import Transport
import WorkerProtocol

extension StreamEvent {
    /// A relay's event, as the supervisor's log and event list have it.
    init(_ event: RelayEvent) {
        let kind: Kind =
            switch event {
            case .input(.connected): .inputUp
            case .input(.disconnected): .inputDown
            case .input(.refused): .inputRefused
            case .input(.gap): .inputGap
            case .output(.connected, _): .outputUp
            case .output(.disconnected, _): .outputDown
            case .output(.refused, _): .outputRefused
            case .picture: .picture
            default: .message
            }
        self.init(kind, "\(event)")
    }
}
