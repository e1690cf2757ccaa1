import ArgumentParser
import Codec
import Enhance
import Foundation
import Offline
import Telemetry

struct ThumbnailsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "thumbnails", abstract: "Finds the pictures that stand for a video best.",
        discussion: """
            Judges pictures of the whole file by sharpness, exposure, contrast, colour, steadiness and coding, and takes the best of \
            different scenes. Files of many pictures are judged by their keyframes. Writes NAME-1.jpg, NAME-2.jpg …, the best first.
            """)

    @Option(parsing: .upToNextOption, help: "The files to read.") var input: [String]
    @Option(help: "The folder to write to.") var outputDirectory: String
    @Option(help: "How many pictures of each file, 1 to 100.") var count = 3
    @Option(help: "Among about how many they are chosen, 1 to 1000.") var candidates = 100
    @Option(help: "The most columns of each, 16 to 8192. Pictures are not enlarged.") var width = 1280
    @Flag(help: "Print what was chosen, and why, as JSON.") var json = false

    func validate() throws {
        guard (1...100).contains(count) else { throw ValidationError("--count is 1 to 100, not \(count)") }
        guard (1...1000).contains(candidates) else { throw ValidationError("--candidates is 1 to 1000, not \(candidates)") }
        guard (16...8192).contains(width) else { throw ValidationError("--width is 16 to 8192, not \(width)") }
        guard !input.contains("-") else { throw ValidationError("standard input has no name for pictures: give a file") }
    }

    func run() throws {
        var files = NamedFiles()
        for input in input { try files.read(input, "--input") }
        let folder = URL(filePath: outputDirectory, directoryHint: .isDirectory)
        do {
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        } catch {
            StandardError.line("burnish: cannot make the folder \(folder.path): \(error.localizedDescription)")
            throw Failure.unavailable
        }
        var search = Thumbnails()
        (search.count, search.candidates, search.width) = (count, candidates, width)
        var outputs: [[String]] = []
        for input in input {
            let name = URL(filePath: input).deletingPathExtension().lastPathComponent
            let paths = (1...count).map { folder.appending(path: "\(name)-\($0).jpg").path }
            for path in paths { try files.write(path, "a picture of \(input)") }
            outputs.append(paths)
        }
        var chosen: [ChosenPicture] = []
        var failure: ExitCode?
        for (input, paths) in zip(input, outputs) {
            do throws(CodecError) {
                let found = try search.find(in: input)
                for (thumbnail, path) in zip(found, paths) {
                    try write(thumbnail.jpeg, to: path)
                    chosen.append(ChosenPicture(thumbnail, of: input, path))
                }
            } catch {
                // One file that fails does not stop the others.
                failure = failure ?? Failure.exit(error)
            }
        }
        if json { print(try chosen.json()) } else { for picture in chosen { print(picture.line) } }
        if let failure { throw failure }
    }

    private func write(_ bytes: [UInt8], to path: String) throws(CodecError) {
        do {
            try Data(bytes).write(to: URL(filePath: path))
        } catch {
            throw CodecError(
                .writeFailed, operation: "write", message: error.localizedDescription, place: path,
                advice: "check the path and the space on the disk")
        }
    }
}

/// A picture that was written.
private struct ChosenPicture: Encodable {
    var input: String
    var output: String
    var picture: Int
    var time: Double
    var score: Double
    var merit: FrameMerit

    init(_ thumbnail: Thumbnails.Thumbnail, of input: String, _ output: String) {
        (self.input, self.output) = (input, output)
        (picture, time) = (thumbnail.picture, thumbnail.time)
        (score, merit) = (thumbnail.score, thumbnail.merit)
    }

    var line: String { "\(output): at \((time * 100).rounded() / 100) s, score \((score * 100).rounded() / 100)" }
}
