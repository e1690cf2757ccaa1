import ArgumentParser
import Foundation
import Media
import Settings
import WorkerProtocol

struct StillCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "still", abstract: "Makes a still of what a stream of the running service keeps of the past.",
        discussion:
            "Prints the path of the file. The stream needs the setting past, as 20s. With --quality best it waits until the still is "
            + "made, which the service does when the machine has time; it does so, too, when this command is ended.")

    @Option(parsing: .unconditional, help: "What was shown then, as -2s.") var at: String?
    @Option(help: "The frame with this number in records and traces.") var frame: UInt64?
    @Option(help: "The picture with this RTP time stamp.") var rtp: UInt32?
    @Option(help: "As it went out, or as it came: after or before.") var side = PictureSide.after
    @Option(help: "jpeg or png; best ones are png.") var format = StillFormat.jpeg
    @Option(help: "fast, or best: made anew from what came in.") var quality = StillQuality.fast
    @OptionGroup var options: CaptureOptions

    func validate() throws {
        guard [at != nil, frame != nil, rtp != nil].count(where: { $0 }) == 1 else {
            throw ValidationError("name one picture: --at -2s, --frame or --rtp")
        }
        if let at, PastTime.read(at) == nil { throw ValidationError(PastTime.wanted("--at")) }
    }

    func run() throws {
        let place = at.map { "at=\($0)" } ?? frame.map { "frame=\($0)" } ?? "rtp=\(rtp ?? 0)"
        let request =
            "still \(options.name) \(place) side=\(side.rawValue) format=\(format.rawValue) quality=\(quality.rawValue)"
        var still = try ServiceRequest.captured(request)
        if quality == .best {
            let frame = still.frame
            still.state = "pending"
            still = try CaptureOptions.awaitEnd(of: still, "still-state")
            still.frame = frame
        }
        try options.finish(still)
        if still.state == "failed" {
            StandardError.line("burnish: \(still.reason)")
            throw Failure.unavailable
        }
    }
}

struct ClipCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "clip", abstract: "Cuts a clip of what a stream of the running service has sent.",
        discussion:
            "Waits until it is there, and prints the path of the file. The stream needs the setting past, as 20s. What --quality "
            + "best asks for is made when the machine has time, also when this command is ended.")

    @Option(parsing: .unconditional, help: "Where it begins, as -20s.") var from: String
    @Option(parsing: .unconditional, help: "Where it ends: up to 60s ahead.") var to = "0s"
    @Option(help: "mp4 or ts.") var format = ClipFormat.mp4
    @Option(help: "sent, or best: made anew from what came in.") var quality = ClipQuality.sent
    @OptionGroup var options: CaptureOptions

    func validate() throws {
        for (key, text) in [("--from", from), ("--to", to)] where PastTime.read(text) == nil {
            throw ValidationError(PastTime.wanted(key))
        }
    }

    func run() throws {
        var clip = try ServiceRequest.captured(
            "clip \(options.name) from=\(from) to=\(to) format=\(format.rawValue) quality=\(quality.rawValue)")
        let late = clip.late
        clip = try CaptureOptions.awaitEnd(of: clip, "clip-state")
        guard clip.state == "ready" else {
            StandardError.line("burnish: the clip has failed: \(clip.reason)")
            throw Failure.unavailable
        }
        clip.late = late
        try options.finish(clip)
    }
}

enum StillQuality: String, CaseIterable, ExpressibleByArgument { case fast, best }
enum ClipQuality: String, CaseIterable, ExpressibleByArgument { case sent, best }

extension PictureSide: ExpressibleByArgument {}
extension StillFormat: ExpressibleByArgument {}
extension ClipFormat: ExpressibleByArgument {}
