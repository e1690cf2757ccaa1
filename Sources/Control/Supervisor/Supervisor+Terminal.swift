import Foundation
import Media
import Settings
import WorkerProtocol

// What `burnish still` and `burnish clip` ask for by the control socket.
extension Supervisor {
    /// - Parameter request: `still NAME at=-2s side=after format=jpeg`, `clip NAME from=-20s to=0s format=mp4`, or
    ///   `clip-state NAME 7`. The name `*` is that of the only stream.
    /// - Returns: a ``CapturedFile`` as JSON; nil where another request is meant.
    func capture(_ request: String) async -> ControlSocket.Answer? {
        let now = MonotonicTime.now()
        let words = request.split(separator: " ").map(String.init)
        guard words.count >= 2, ["still", "clip", "clip-state"].contains(words[0]) else { return nil }
        do throws(ServiceFault) {
            let name = try streamName(words[1])
            var values: [String: String] = [:]
            for word in words.dropFirst(2) {
                let parts = word.split(separator: "=", maxSplits: 1).map(String.init)
                if parts.count == 2 { values[parts[0]] = parts[1] }
            }
            let capture =
                switch words[0] {
                case "still": try await still(of: name, values, now)
                case "clip": try await clip(of: name, values, now)
                default: try await clip(words.count > 2 ? Int(words[2]) ?? 0 : 0, of: name)
                }
            let file = CapturedFile(
                stream: name, kind: capture.kind.rawValue, number: capture.number, state: capture.state.rawValue,
                file: capture.path, bytes: capture.bytes, frame: capture.frame, late: capture.late, reason: capture.reason)
            let text = (try? JSONEncoder().encode(file)).map { String(decoding: $0, as: UTF8.self) }
            return ControlSocket.Answer(isGood: text != nil, text: text ?? "the answer cannot be written")
        } catch {
            return ControlSocket.Answer(isGood: false, text: error.key.map { "\($0): \(error.text)" } ?? error.text)
        }
    }

    private func streamName(_ word: String) throws(ServiceFault) -> String {
        if word != "*" { return word }
        let names = supervised.keys.sorted()
        if names.count == 1 { return names[0] }
        throw ServiceFault(
            .conflict,
            names.isEmpty ? "the service has no stream" : "several streams run; give --stream: \(names.joined(separator: ", "))"
        )
    }

    private func still(
        of name: String, _ values: [String: String], _ now: MonotonicTime
    ) async throws(ServiceFault) -> Capture {
        let place: StillPlace
        if let frame = values["frame"].flatMap({ UInt64($0) }) {
            place = .frame(frame)
        } else if let stamp = values["rtp"].flatMap({ UInt32($0) }) {
            place = .rtp(stamp)
        } else if let time = values["at"].flatMap(PastTime.read) {
            place = .time((now + time).nanoseconds)
        } else {
            throw ServiceFault(.invalid, "name one picture: --at -2s, --frame or --rtp")
        }
        return try await makeStill(
            of: name, side: values["side"] == "before" ? .before : .after, at: place,
            as: StillFormat(rawValue: values["format"] ?? "") ?? .jpeg, width: 3840)
    }

    private func clip(
        of name: String, _ values: [String: String], _ now: MonotonicTime
    ) async throws(ServiceFault) -> Capture {
        func time(_ key: String) throws(ServiceFault) -> MonotonicTime {
            guard let text = values[key] else { return now }
            guard let time = PastTime.read(text) else { throw ServiceFault(.invalid, PastTime.wanted(key)) }
            return now + time
        }
        return try await makeClip(
            of: name, from: try time("from"), to: try time("to"), as: ClipFormat(rawValue: values["format"] ?? "") ?? .mp4)
    }
}
