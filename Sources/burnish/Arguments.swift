import ArgumentParser
import Media
import Settings

/// A length of time: `80ms`, `1.5s`, `200us`, `5m`. At most ten years.
struct TimeArgument: ExpressibleByArgument {
    var value: Nanoseconds

    init(_ value: Nanoseconds) { self.value = value }

    init?(argument: String) {
        guard let value = TimeText.read(argument) else { return nil }
        self.value = value
    }

    var defaultValueDescription: String { TimeText.write(value) }
}

/// A picture size: `640x360`.
struct SizeArgument: ExpressibleByArgument {
    var value: PictureSize

    init(_ value: PictureSize) { self.value = value }

    init?(argument: String) {
        guard let value = SizeText.read(argument) else { return nil }
        self.value = value
    }

    var defaultValueDescription: String { SizeText.write(value) }
}

/// A bit rate in bits a second: `2.5M`, `800k`, `1G`.
struct BitRateArgument: ExpressibleByArgument {
    var value: Int

    init(_ value: Int) { self.value = value }

    init?(argument: String) {
        guard let value = BitRateText.read(argument) else { return nil }
        self.value = value
    }

    var defaultValueDescription: String { BitRateText.write(value) }
}

/// A frame rate: `30`, `29.97`, `30000/1001`. From 0.01 to 1000 frames a second.
struct FrameRateArgument: ExpressibleByArgument {
    var value: Rational

    init(_ value: Rational) { self.value = value }

    init?(argument: String) {
        guard let value = FrameRateText.read(argument) else { return nil }
        self.value = value
    }

    var defaultValueDescription: String { FrameRateText.write(value) }
}

extension SettingFault {
    /// The fault as the command line says it: `--scale is 1 or 2, not 3`.
    var onCommandLine: String { "--\(key) \(text.namingOptions)" }
}

extension String {
    /// With options in place of the keys between backticks.
    var namingOptions: String {
        split(separator: "`", omittingEmptySubsequences: false).enumerated()
            .map { $0.offset % 2 == 1 ? "--\($0.element)" : String($0.element) }.joined()
    }
}
