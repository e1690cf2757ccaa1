import ArgumentParser
import Foundation
import Media
import Telemetry
import WorkerProtocol

/// Asks the running service by its control socket, which its user and root may use.
enum ServiceRequest {
    /// - Returns: the service's answer.
    /// - Throws: after one line on standard error, an exit code.
    static func captured(_ request: String) throws -> CapturedFile {
        var fault = "there is no folder for runtime files"
        for folder in TelemetryMap.Place.folders() {
            let answer: String
            do throws(ServiceSocket.Fault) { answer = try ServiceSocket.ask(request, at: folder + "/control") } catch {
                fault = error.description
                continue
            }
            if answer.hasPrefix("good "),
                let file = try? JSONDecoder().decode(CapturedFile.self, from: Data(answer.dropFirst(5).utf8))
            {
                return file
            }
            fault = answer.hasPrefix("bad ") ? String(answer.dropFirst(4)) : "the service is of another version"
            break
        }
        StandardError.line("burnish: \(fault)")
        throw Failure.unavailable
    }
}

/// Which stream of the running service is meant, and what becomes of the file.
struct CaptureOptions: ParsableArguments {
    @Option(help: "The stream's name. May be left out when the service has only one.") var stream: String?
    @Option(help: "Copy the file there.", completion: .file()) var output: String?
    @Flag(help: "Print what is known of it as JSON, not its path.") var json = false

    func validate() throws {
        if let stream, stream.isEmpty || stream.contains(where: { $0.isWhitespace || $0 == "/" || $0 == "*" }) {
            throw ValidationError("--stream: \"\(stream)\" is no stream's name")
        }
    }

    var name: String { stream ?? "*" }

    /// Asks again and again until a still or clip is no longer pending.
    static func awaitEnd(of file: CapturedFile, _ question: String) throws -> CapturedFile {
        var file = file
        while file.state == "pending" {
            file = try ServiceRequest.captured("\(question) \(file.stream) \(file.number)")
            if file.state == "pending" { (MonotonicTime.now() + .milliseconds(200)).sleep() }
        }
        return file
    }

    /// Prints where the file is, and copies it.
    func finish(_ file: CapturedFile) throws {
        if let late = file.late {
            StandardError.line(
                "burnish: it begins \((late * 10).rounded() / 10) s later than asked: the past goes back no further")
        }
        if let output {
            do { try Data(contentsOf: URL(filePath: file.file)).write(to: URL(filePath: output)) } catch {
                StandardError.line("burnish: \(file.file) cannot be copied to \(output): \(error.localizedDescription)")
                throw Failure.unavailable
            }
        }
        print(json ? try file.json() : output ?? file.file)
    }
}
