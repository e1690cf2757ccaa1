import ArgumentParser
import Settings

/// The options of `burnish relay` that are settings of a stream: one for each of ``StreamKeys``, under its name. Help, default and
/// what is allowed come from that table; a test compares the two.
struct SettingOptions: ParsableArguments {
    @Option(help: .setting("scale"), completion: .setting("scale")) var scale: String?
    @Option(help: .setting("size")) var size: String?
    @Option(help: .setting("mode"), completion: .setting("mode")) var mode: String?
    @Option(help: .setting("tier"), completion: .setting("tier")) var tier: String?
    @Option(help: .setting("content"), completion: .setting("content")) var content: String?
    @Option(help: .setting("sharpness")) var sharpness: String?
    @Option(help: .setting("denoise")) var denoise: String?
    @Option(help: .setting("hdr")) var hdr: String?
    @Option(help: .setting("hdr-peak")) var hdrPeak: String?
    @OptionGroup var steps: StepOptions
    @Option(help: .setting("max-size")) var maxSize: String?
    @Flag(help: .setting("keep-size")) var keepSize = false
    @Option(help: .setting("deinterlace"), completion: .setting("deinterlace")) var deinterlace: String?
    @Option(help: .setting("interpolate")) var interpolate: String?
    @Option(help: .setting("fps")) var fps: String?
    @Flag(help: .setting("keep-output")) var keepOutput = false
    @Option(help: .setting("hold")) var hold: String?
    @Option(help: .setting("lookahead")) var lookahead: String?
    @OptionGroup var record: RecordOptions
    @Option(help: .setting("budget")) var budget: String?
    @Option(help: .setting("caution")) var caution: String?
    @Option(help: .setting("pacing"), completion: .setting("pacing")) var pacing: String?
    @Option(help: .setting("bitrate")) var bitrate: String?
    @Option(help: .setting("bits")) var bits: String?
    @Option(help: .setting("bitrate-floor")) var bitrateFloor: String?
    @Option(help: .setting("codec"), completion: .setting("codec")) var codec: String?
    @Option(help: .setting("preset"), completion: .setting("preset")) var preset: String?
    @Option(help: .setting("threads")) var threads: String?
    @Option(help: .setting("decode-threads")) var decodeThreads: String?
    @Option(help: .setting("encode-threads")) var encodeThreads: String?

    /// What was given, by the names of the keys.
    var texts: [String: String] { Self.texts(of: self) }

    /// What was given of some options, by the names of their keys.
    static func texts(of options: some ParsableArguments) -> [String: String] {
        var texts: [String: String] = [:]
        for (label, value) in Mirror(reflecting: options).children {
            guard let label else { continue }
            switch value {
            case let option as Option<String?>: texts[key(label)] = option.wrappedValue
            case let flag as Flag<Bool>: if flag.wrappedValue { texts[key(label)] = "true" }
            case let group as OptionGroup<StepOptions>: texts.merge(group.wrappedValue.texts) { first, _ in first }
            case let group as OptionGroup<RecordOptions>: texts.merge(group.wrappedValue.texts) { first, _ in first }
            default: preconditionFailure("\(label) is neither an option nor a flag")
            }
        }
        return texts
    }

    /// The names of the options.
    static var keys: [String] {
        let groups: Set = ["_steps", "_record"]
        let labels = Mirror(reflecting: SettingOptions()).children.compactMap(\.label).filter { !groups.contains($0) }
        let inner = [Mirror(reflecting: StepOptions()), Mirror(reflecting: RecordOptions())].flatMap(\.children)
        return (labels + inner.compactMap(\.label)).map(key)
    }

    /// `_maxSize` is max-size.
    private static func key(_ label: String) -> String {
        label.dropFirst().reduce(into: "") { $0 += $1.isUppercase ? "-" + $1.lowercased() : String($1) }
    }

    /// The settings of a stream that the command line asks for.
    func values() throws(SettingFault) -> StreamValues { try StreamValues.onCommandLine.applying(texts.mapValues { $0 }) }

    func validate() throws {
        do throws(SettingFault) { _ = try values() } catch { throw ValidationError(error.onCommandLine) }
    }
}

extension ArgumentHelp {
    /// The help of a stream's setting, from the table of them.
    static func setting(_ name: String) -> ArgumentHelp {
        let key = key(name)
        // A flag shows that it is off by being there.
        let isFlag = key.kind == .choice(["true", "false"])
        let values = isFlag ? "" : " Allowed: \(key.allowedTexts). (default: \(key.write(.onCommandLine)))"
        return ArgumentHelp(stringLiteral: key.help.namingOptions + values)
    }

    fileprivate static func key(_ name: String) -> StreamKey {
        guard let key = StreamKeys.named(name) else { preconditionFailure("\(name) is no setting of a stream") }
        return key
    }
}

extension CompletionKind {
    /// The values of a choice.
    static func setting(_ name: String) -> CompletionKind {
        guard case .choice(let names) = ArgumentHelp.key(name).kind else { preconditionFailure("\(name) is no choice") }
        return .list(names)
    }
}
