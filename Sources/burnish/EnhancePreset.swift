import ArgumentParser
import Offline

/// Options of `burnish enhance` by what they are for. Each stands for plain options, which it names, and takes the place of none that
/// is given.
enum EnhancePreset: String, CaseIterable, ExpressibleByArgument {
    case phone
    case archive
    case slowMotion = "slow-motion"

    /// The options that it stands for.
    var options: [(name: String, value: String)] {
        switch self {
        case .phone: [("--scale", "1"), ("--restore", "m"), ("--crf", "24")]
        case .archive: [("--scale", "2"), ("--tier", "quality"), ("--crf", "14")]
        case .slowMotion: [("--scale", "1"), ("--slow", "4"), ("--sound", "stretch")]
        }
    }

    /// One line for people.
    var meaning: String { "--for \(rawValue) is \(options.map { "\($0.name) \($0.value)" }.joined(separator: " "))" }

    /// Sets the options.
    /// - Throws: where one of them is given, too.
    func apply(to command: inout EnhanceCommand) throws {
        for (name, value) in options {
            switch name {
            case "--scale":
                guard command.size == nil else { throw contradiction("--size") }
                try set(&command.scale, name, FileScale(argument: value))
            case "--restore": try set(&command.restore, name, .init(rawValue: value))
            case "--crf": try set(&command.quality, name, Double(value))
            case "--tier": try set(&command.tier, name, NetworkTierArgument(argument: value))
            case "--slow": try set(&command.slow, name, Int(value))
            case "--sound": try set(&command.sound, name, .init(rawValue: value))
            default: preconditionFailure("no option \(name)")
            }
        }
    }

    private func set<Value>(_ option: inout Value?, _ name: String, _ value: Value?) throws {
        guard option == nil else { throw contradiction(name) }
        option = value
    }

    private func contradiction(_ name: String) -> ValidationError {
        ValidationError("\(meaning): give \(name) without --for, and the others of them as you want them")
    }
}
