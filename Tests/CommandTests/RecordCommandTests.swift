import Foundation
import TestStreams
import TestSupport
import Testing

/// `burnish relay --record` with real files.
@Suite(.timeLimit(.minutes(3))) struct RecordCommandTests {
    private let scratch: Scratch
    private let input: String

    /// Ten seconds with sound, a keyframe each second.
    init() throws {
        scratch = try Scratch()
        input = scratch.path("in.ts")
        let made = try runTool([
            "ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=25", "-f", "lavfi", "-i", "sine",
            "-t", "10", "-c:v", "libx264", "-g", "25", "-c:a", "aac", input,
        ])
        #expect(made.status == 0, "\(made.errors)")
    }

    private func files(_ ending: String, in folder: String? = nil) -> [String] {
        let folder = folder ?? scratch.path("rec")
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder)) ?? []
        return names.filter { $0.hasSuffix(ending) }.sorted().map { folder + "/" + $0 }
    }

    /// What ffprobe counts: packets of a kind, where they lie in the file, and what it complains of.
    private func packets(
        _ path: String, _ kind: String
    ) throws -> (count: Int, first: Double, places: [Int], errors: String) {
        let probe = try runTool([
            "ffprobe", "-v", "error", "-select_streams", kind, "-show_entries", "packet=pts_time,pos", "-of", "csv=p=0", path,
        ])
        let rows = probe.output.split(whereSeparator: \.isNewline).map { $0.split(separator: ",") }.filter { $0.count >= 2 }
        let times = rows.compactMap { Double($0[0]) }
        // Of the frames in one PES packet, the first has a place.
        let places = rows.reduce(into: [Int]()) { $0.append(Int($1[1]) ?? $0.last ?? 0) }
        return (rows.count, times.first ?? -1, places, probe.errors)
    }

    /// All that goes out is in the files once, and sound and picture keep their distance.
    @Test(arguments: ["ts", "mp4"]) func whatIsSentIsRecorded(ending: String) throws {
        let outcome = try Program.run([
            "relay", "--input", input, "--output", scratch.path("out.ts"), "--scale", "1", "--tier", "base", "--record",
            scratch.path("rec") + "/%Y/%s.\(ending)", "--record-every", "3s", "--json", "--quiet",
        ])
        #expect(outcome.code == 0, "\(outcome.errors)")
        let recorded = files(ending)
        #expect((3...6).contains(recorded.count), "\(recorded)")
        let firstPicture = try #require(try packets(scratch.path("out.ts"), "v").places.first)
        for kind in ["v", "a"] {
            let sent = try packets(scratch.path("out.ts"), kind)
            let all = try recorded.map { try packets($0, kind) }
            let missing = sent.count - all.reduce(0) { $0 + $1.count }
            // Sound that went out before the first picture cannot be played.
            let early = kind == "v" ? 0 : sent.places.count { $0 < firstPicture }
            #expect(missing == early, "\(kind): \(missing) of \(sent.count)")
            #expect(all.allSatisfy { $0.errors.isEmpty }, "\(all)")
        }
        guard ending == "mp4", let first = recorded.dropFirst().first else { return }
        let (video, sound) = (try packets(first, "v"), try packets(first, "a"))
        #expect(abs(video.first - sound.first) < 0.2 && min(video.first, sound.first) < 0.2, "\(video.first) \(sound.first)")
        // The first file begins as the output does.
        let (v, s) = (try packets(scratch.path("out.ts"), "v").first, try packets(scratch.path("out.ts"), "a").first)
        let (fileV, fileS) = (try packets(recorded[0], "v").first, try packets(recorded[0], "a").first)
        let lost = 432 - (try recorded.reduce(0) { $0 + (try packets($1, "a").count) })
        #expect(abs((fileV - fileS) - (v - s - Double(lost) * 1024 / 44_100)) < 0.005, "\(v) \(s) \(fileV) \(fileS)")
    }

    /// What was written until a program is killed can be played, and the next one begins another file.
    @Test(arguments: ["ts", "mp4"]) func aKilledProgramLeavesPlayableFiles(ending: String) throws {
        let arguments = [
            "relay", "--input", input, "--output", scratch.path("out.ts"), "--scale", "1", "--tier", "base", "--record",
            scratch.path("rec") + "/%s.\(ending)", "--quiet",
        ]
        for round in 1...2 {
            let program = try Program(arguments)
            #expect(program.read { $0.contains("recording: writes") }.contains("recording: writes"))
            var size = 0
            while size < 60_000 {
                let path = try #require(files(ending).last)
                size = (try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int) ?? 0
                usleep(20_000)
            }
            #expect(program.end(with: SIGKILL).reason == .uncaughtSignal)
            #expect(files(ending).count == round)
        }
        for path in files(ending) {
            let played = try runTool([
                "ffprobe", "-v", "quiet", "-count_frames", "-select_streams", "v", "-show_entries", "stream=nb_read_frames",
                "-of",
                "csv=p=0", path,
            ])
            let pictures = Int(played.output.split(whereSeparator: { $0.isNewline || $0 == "," }).first ?? "") ?? 0
            #expect(pictures >= 20, "\(path): \(played)")
        }
    }

    private static let canMount =
        (try? runTool(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).status == 0) ?? false

    /// A disk that fills up ends the recording, says so once, and costs the stream nothing.
    @Test(.enabled(if: canMount), arguments: ["ts", "mp4"]) func aFullDiskCostsTheRecordingAlone(ending: String) throws {
        let (disk, left) = (scratch.path("disk"), scratch.path("left"))
        for folder in [disk, left] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        let script = """
            mount -t tmpfs -o size=20m tmpfs "$0" || exit 99
            ( until ls "$0"/*.\(ending) 2>/dev/null; do sleep 0.02; done; head -c 20900000 /dev/zero > "$0/ballast" ) &
            "$@"; code=$?
            cp -p "$0"/*.\(ending) \(left)/
            exit $code
            """
        let outcome = try runTool([
            "unshare", "-rm", "sh", "-c", script, disk, Program.executable.path, "relay", "--input", input, "--output",
            scratch.path("out.ts"), "--scale", "1", "--tier", "base", "--bitrate", "2M", "--record", "\(disk)/%s.\(ending)",
            "--json", "--quiet",
        ])
        #expect(outcome.status == 0, "\(outcome)")
        #expect(try packets(scratch.path("out.ts"), "v").count == 250)
        #expect(outcome.errors.components(separatedBy: "recording: pauses").count == 2, "\(outcome.errors)")
        #expect(outcome.errors.contains("No space left on device"))
        #expect(outcome.output.contains("recording_units_dropped_failed"), "\(outcome.output)")
        let played = try packets(try #require(files(ending, in: left).first), "v")
        #expect(played.count >= 10, "\(played)")
    }
}
