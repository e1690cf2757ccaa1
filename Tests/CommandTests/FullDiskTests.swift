import Foundation
import TestStreams
import TestSupport
import Testing

/// `burnish enhance` on a disk that fills up, which is memory that the test mounts for the program alone.
@Suite(.timeLimit(.minutes(3))) struct FullDiskTests {
    /// Containers may forbid mounting.
    private static let canMount =
        (try? runTool(["unshare", "-rm", "mount", "-t", "tmpfs", "tmpfs", "/mnt"]).status == 0) ?? false

    private let scratch: Scratch
    private let input: String
    /// Where the small disk is mounted, and what is left of it afterwards.
    private let disk: String
    private let left: String

    /// Scenes of 26 pictures with noise.
    init() throws {
        scratch = try Scratch()
        input = scratch.path("in.mkv")
        (disk, left) = (scratch.path("disk"), scratch.path("left"))
        for folder in [disk, left] {
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }
        let made = try runTool([
            "ffmpeg", "-v", "error", "-y", "-f", "lavfi", "-i", "testsrc2=size=160x96:rate=25", "-f", "lavfi", "-i", "sine",
            "-t",
            "4", "-vf", "rotate='floor(n/26)*0.7',hue=h='floor(n/26)*80',noise=alls=8:allf=t", "-c:v", "libx264", "-crf", "10",
            "-g", "26", "-c:a", "aac", input,
        ])
        #expect(made.status == 0, "\(made.errors)")
    }

    private var arguments: [String] {
        ["enhance", "--input", input, "--scale", "1", "--tier", "base", "--quiet", "--crf", "8"]
    }

    private func run(_ arguments: [String], kilobytes: Int) throws -> (status: Int32, output: String, errors: String) {
        let script = """
            mount -t tmpfs -o size=\(kilobytes)k tmpfs "$0" || exit 99
            "$@"; code=$?
            cp -p "$0"/* \(left)/
            exit $code
            """
        return try runTool(["unshare", "-rm", "sh", "-c", script, disk, Program.executable.path] + arguments)
    }

    @Test(.enabled(if: canMount), arguments: ["mp4", "mkv", "ts", "y4m"], [false, true])
    func whatWasMadeCanBePlayed(kind: String, resumes: Bool) throws {
        if resumes && kind == "y4m" { return }
        let command = arguments + ["--output", "\(disk)/out.\(kind)"] + (resumes ? ["--resume"] : [])
        let outcome = try run(command, kilobytes: resumes ? 1000 : 600)
        #expect(outcome.status == 69, "\(outcome)")
        #expect(outcome.errors.contains("make room on the disk"), "\(outcome)")
        let played = try runTool([
            "ffprobe", "-v", "error", "-count_frames", "-select_streams", "v", "-show_entries",
            "stream=nb_read_frames", "-of", "csv=p=0", "\(left)/out.\(kind)",
        ])
        let pictures = Int(played.output.split(whereSeparator: \.isNewline).first ?? "") ?? 0
        #expect(played.errors.isEmpty && (5..<99).contains(pictures), "\(played)")
        guard resumes else { return }
        // With more room it goes on.
        for name in try FileManager.default.contentsOfDirectory(atPath: left) {
            try FileManager.default.moveItem(atPath: "\(left)/\(name)", toPath: "\(disk)/\(name)")
        }
        let second = try Program.run(command + ["--json"])
        #expect(second.code == 0 && second.output.contains("\"pictures_out\" : 100"), "\(second)")
        #expect(!second.output.contains("\"pictures_kept\" : 0"), "\(second.output)")
    }

    /// An output of which no picture could be written does not stay.
    @Test(.enabled(if: canMount), arguments: ["mp4", "mkv", "ts", "y4m"]) func nothingEmptyStays(kind: String) throws {
        let outcome = try run(arguments + ["--output", "\(disk)/out.\(kind)"], kilobytes: 4)
        #expect(outcome.status == 69 && outcome.errors.contains("make room on the disk"), "\(outcome)")
        #expect(try FileManager.default.contentsOfDirectory(atPath: left).isEmpty)
    }
}
