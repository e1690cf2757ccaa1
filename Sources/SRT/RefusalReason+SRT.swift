import Media

extension RefusalReason {
    /// What is said to libsrt's caller (`srt/access_control.h`, which follows HTTP).
    var code: Int32 {
        switch self {
        case .busy: 1409
        case .unknownStream: 1404
        case .wrongMode: 1405
        case .malformedStreamID: 1400
        case .wrongPassphrase: 1401
        case .kicked: 1403
        case .tooManyCalls: 1402
        }
    }
}
