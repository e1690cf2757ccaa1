import ArgumentParser
import Media
import Overlays
import Settings

/// The options of steps on pictures, which `burnish relay` and `burnish enhance` share: one for each setting, under its name.
struct StepOptions: ParsableArguments {
    @Option(help: .setting("crop")) var crop: String?
    @Option(help: .setting("mask")) var mask: String?
    @Option(parsing: .unconditional, help: .setting("brightness")) var brightness: String?
    @Option(help: .setting("contrast")) var contrast: String?
    @Option(help: .setting("saturation")) var saturation: String?
    @Option(help: .setting("gamma")) var gamma: String?
    @Option(parsing: .unconditional, help: .setting("warmth")) var warmth: String?
    @Option(help: .setting("lut"), completion: .file(extensions: ["cube"])) var lut: String?
    @Option(parsing: .unconditional, help: .setting("overlay")) var overlay: String?
    @Option(help: .setting("overlay-font"), completion: .file(extensions: ["ttf", "otf", "ttc"])) var overlayFont: String?

    /// What was given, by the names of the keys.
    var texts: [String: String] { SettingOptions.texts(of: self) }

    /// Takes over what was given.
    func apply(to steps: inout StepSettings) throws(SettingFault) {
        var values = StreamValues()
        values.settings.steps = steps
        steps = try values.applying(texts.mapValues { $0 }).settings.steps
    }

    /// Reads the files that were given.
    /// - Parameter stream: the name that `{stream}` shows.
    /// - Throws: after one line on standard error, an exit code.
    static func readFiles(of steps: inout StepSettings, stream: String) throws {
        do throws(FileSettingFault) {
            try steps.readFiles(stream: stream) { path, most throws(SmallFile.Fault) in
                try SmallFile.read(path: path, most: most)
            }
        } catch {
            StandardError.line("burnish: --\(error.key): \(error.text)")
            throw Failure.badInput
        }
    }

    func validate() throws {
        var steps = StepSettings()
        do throws(SettingFault) { try apply(to: &steps) } catch { throw ValidationError(error.onCommandLine) }
    }
}
