import Foundation
import Media
import Settings
import WorkerProtocol

// What `burnish still` and `burnish clip` ask for by the control socket.
extension Supervisor {
    /// - Parameter request: `still NAME at=-2s side=after format=jpeg quality=fast`,
    ///   `clip NAME from=-20s to=0s format=mp4 quality=sent`, `still-state NAME 7` or `clip-state NAME 7`. The name `*` is that of the
    ///   only stream.
    /// - Returns: a ``CapturedFile`` as JSON; nil where another request is meant.
    func capture(_ request: String) async -> ControlSocket.Answer? {
        let now = MonotonicTime.now()
        let words = request.split(separator: " ").map(String.init)
        guard words.count >= 2, ["still", "clip", "still-state", "clip-state"].contains(words[0]) else { return nil }
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
                case "still-state": try await stillState(words.count > 2 ? Int(words[2]) ?? 0 : 0, of: name)
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
        let side: PictureSide = values["side"] == "before" ? .before : .after
        let format = StillFormat(rawValue: values["format"] ?? "") ?? .jpeg
        return values["quality"] == "best"
            ? try await makeBestStill(of: name, side: side, at: place, as: format, width: 3840)
            : try await makeStill(of: name, side: side, at: place, as: format, width: 3840)
    }

    /// A still is pending while a better one is to take its place, and has failed where none did.
    private func stillState(_ number: Int, of name: String) async throws(ServiceFault) -> Capture {
        let folder = try captures(of: name)
        let isComing = deferred.queue.contains(number, of: name, .still)
        let found = try await onDisk { () throws(CaptureFolder.Fault) -> (path: String, bytes: Int64)? in
            folder.find(.still, number).map { ($0, CaptureFolder.size(of: $0) ?? 0) }
        }
        guard let found else { throw ServiceFault(.notFound, "the stream has no still of this number") }
        let staysProxy = !isComing && CaptureFolder.isProxy(found.path)
        var capture = Capture(
            .still, number: number, path: found.path, state: isComing ? .pending : staysProxy ? .failed : .ready)
        capture.bytes = found.bytes
        if staysProxy { capture.reason = "no better one could be made, so the proxy stays: the service's log says why" }
        return capture
    }

    private func clip(
        of name: String, _ values: [String: String], _ now: MonotonicTime
    ) async throws(ServiceFault) -> Capture {
        func time(_ key: String) throws(ServiceFault) -> MonotonicTime {
            guard let text = values[key] else { return now }
            guard let time = PastTime.read(text) else { throw ServiceFault(.invalid, PastTime.wanted(key)) }
            return now + time
        }
        let format = ClipFormat(rawValue: values["format"] ?? "") ?? .mp4
        let (from, to) = (try time("from"), try time("to"))
        return values["quality"] == "best"
            ? try await makeBestClip(of: name, from: from, to: to, as: format)
            : try await makeClip(of: name, from: from, to: to, as: format)
    }
}
