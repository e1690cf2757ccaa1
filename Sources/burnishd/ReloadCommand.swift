import ArgumentParser
import Control
import Foundation
import Telemetry

struct ReloadCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "reload", abstract: "Has the running service read its configuration again.",
        discussion:
            "Exit code 0: the new configuration is in use. 78: it has faults, and the old one stays. 69: no service answers.")

    @Option(help: "The running service's folder for runtime files (see burnishd run --help).")
    var runtimeDirectory: String?

    func run() throws {
        let folders = runtimeDirectory.map { [$0] } ?? TelemetryMap.Place.folders()
        var fault = "there is no folder for runtime files: give --runtime-directory"
        for folder in folders {
            let answer: ControlSocket.Answer
            do throws(ControlSocket.Fault) {
                answer = try ControlSocket.ask("reload", at: RuntimeFolder.controlSocket(in: folder))
            } catch {
                fault = error.description
                continue
            }
            guard answer.isGood else { throw ServiceFailure.exit(ServiceFailure.badConfiguration, answer.text) }
            print(answer.text)
            return
        }
        throw ServiceFailure.exit(ServiceFailure.unavailable, fault)
    }
}
