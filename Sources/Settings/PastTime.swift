import Media

/// A time before or after now, as text: `-2s`, `0s`, `5s`.
public enum PastTime {
    /// Reads a time of at most a day.
    public static func read(_ text: String) -> Nanoseconds? {
        let (sign, digits): (Int64, Substring) = text.hasPrefix("-") ? (-1, text.dropFirst()) : (1, text[...])
        // `Double` would read a second sign.
        guard digits.first?.isNumber == true, let time = TimeText.read(String(digits)), time <= .seconds(86_400) else {
            return nil
        }
        return time * sign
    }

    public static func wanted(_ key: String) -> String { "\(key) is a time up to a day before now, as -2s or -500ms" }
}
