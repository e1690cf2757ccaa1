import Media

/// All settings of one stream: what is fixed while it runs, and what may change.
public struct StreamValues: Hashable, Sendable {
    public var options = StreamOptions()
    public var settings = StreamSettings()

    /// The defaults.
    public init() {}

    /// What `burnish relay` begins with: it ends with its source, where the service waits for the source to return.
    public static let onCommandLine: StreamValues = {
        var values = StreamValues()
        for key in StreamKeys.all {
            guard let text = key.onCommandLine else { continue }
            do throws(SettingFault) { try key.read(text, &values) } catch { preconditionFailure("\(error)") }
        }
        return values
    }()

    /// Reads settings from text with units, as ``texts`` writes them. What is not given has its default.
    /// - Throws: the first fault, in the order of ``StreamKeys/all``.
    public init(_ texts: [String: String]) throws(SettingFault) {
        for name in texts.keys.sorted() where StreamKeys.named(name) == nil { throw StreamKeys.unknown(name) }
        for key in StreamKeys.all {
            if let text = texts[key.name] { try key.read(text, &self) }
        }
        if let fault = contradictions().first { throw fault }
    }

    /// The settings whose texts name files.
    public static let fileKeys: Set<String> = ["lut", "overlay", "overlay-font"]

    /// Files that come with the system, which may always be read.
    public static let usualFiles = [Overlay.usualFont]

    /// The files that settings name, as ``StepSettings/files``.
    public var files: [(key: String, path: String)] { settings.steps.files }

    /// What differs from the defaults, as text with units.
    public var texts: [String: String] {
        var texts: [String: String] = [:]
        for key in StreamKeys.all {
            let text = key.write(self)
            if text != key.defaultText { texts[key.name] = text }
        }
        return texts
    }

    /// All settings, as text with units.
    public var allTexts: [String: String] {
        Dictionary(uniqueKeysWithValues: StreamKeys.all.map { ($0.name, $0.write(self)) })
    }

    /// The settings with some changed. A text of nil returns to the default.
    /// - Throws: a value that is not allowed, or one that has no effect beside the others, such as `hold` where nothing is repeated.
    public func applying(_ changes: [String: String?]) throws(SettingFault) -> StreamValues {
        var values = self
        var given: Set<String> = []
        for name in changes.keys.sorted() where StreamKeys.named(name) == nil { throw StreamKeys.unknown(name) }
        for key in StreamKeys.all {
            guard let change = changes[key.name] else { continue }
            if let text = change {
                try key.read(text, &values)
                given.insert(key.name)
            } else {
                key.reset(&values)
            }
        }
        if let fault = values.faults(given: given).first { throw fault }
        return values
    }

    /// Every value that is outside of its limits, then every contradiction.
    /// - Parameter given: the keys that somebody wrote down. A value that has no effect is a fault only where it was given:
    ///   a default that has none is not.
    public func faults(given: Set<String>) -> [SettingFault] {
        StreamKeys.all.compactMap { $0.fault(in: self) } + contradictions(given: given)
    }

    private func contradictions(given: Set<String> = []) -> [SettingFault] {
        var faults: [SettingFault] = []
        if options.fps != nil, settings.interpolate != 1 || given.contains("interpolate") {
            let text = "sets the output's rate and `interpolate` makes it follow the input's: give one"
            faults.append(SettingFault("fps", text))
        }
        if options.fps == nil, !options.keepOutput, given.contains("hold") {
            faults.append(SettingFault("hold", "goes with `fps` or `keep-output`: without them nothing is repeated"))
        }
        if options.keepSize, settings.mode == .bypass {
            faults.append(SettingFault("keep-size", "forbids `mode` bypass: a bypassed stream has the input's size"))
        }
        if settings.steps.holdsBypass {
            if settings.mode == .bypass {
                faults.append(SettingFault("mask", "forbids `mode` bypass: bypassed pictures cannot be masked"))
            }
            if settings.hdr == .pass {
                faults.append(SettingFault("mask", "forbids `hdr` pass: pictures that go out as they came cannot be masked"))
            }
        }
        if options.size != nil, options.scale != .double || given.contains("scale") {
            faults.append(SettingFault("size", "takes the place of `scale`: give one"))
        }
        if options.keepSize, options.scale == .fit {
            faults.append(SettingFault("keep-size", "forbids `scale` fit, which chooses the size: give a number"))
        }
        if let floor = settings.bitRateFloor, let rate = settings.bitRate, floor > rate {
            faults.append(SettingFault("bitrate-floor", "is at most `bitrate`, not \(BitRateText.write(floor))"))
        }
        if options.lookahead == 0, given.contains("lookahead"), options.fps == nil, settings.interpolate == 1 {
            let text = "0 goes with `interpolate` 2 or `fps`: without them nothing is extrapolated"
            faults.append(SettingFault("lookahead", text))
        }
        return faults
    }
}

/// What makes one stream's settings another's.
public struct StreamDifference: Hashable, Sendable {
    /// What may change while the stream runs, as text with units. A text of nil returns to the default.
    public var live: [String: String?] = [:]
    /// The keys that only a restart of the stream can change.
    public var restart: [String] = []

    public var isEmpty: Bool { live.isEmpty && restart.isEmpty }
    public var needsRestart: Bool { !restart.isEmpty }
}

extension StreamValues {
    /// What has to change for these settings to become `new`.
    public func difference(to new: StreamValues) -> StreamDifference {
        var difference = StreamDifference()
        for key in StreamKeys.all {
            let text = key.write(new)
            guard text != key.write(self) else { continue }
            switch key.change {
            case .live: difference.live.updateValue(text == key.defaultText ? nil : text, forKey: key.name)
            case .restart: difference.restart.append(key.name)
            }
        }
        return difference
    }
}
