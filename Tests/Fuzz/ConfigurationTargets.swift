import Endpoint
import Media
import ServiceConfiguration
import Settings

/// The input is a configuration file.
func fuzzConfiguration(_ input: UnsafeRawBufferPointer) {
    guard let text = String(validating: input, as: UTF8.self) else { return }
    // YAML knows more line breaks than editors do.
    let lines = text.unicodeScalars.count { ["\n", "\r", "\u{85}", "\u{2028}", "\u{2029}"].contains($0) } + 1
    let environment = ConfigurationEnvironment(variables: ["CREDENTIALS_DIRECTORY": "/run", "STATE_DIRECTORY": "/var/lib/b"]) {
        (path, _) throws(ConfigurationEnvironment.ReadFailure) in
        guard path.utf8.count < 20 else { throw ConfigurationEnvironment.ReadFailure("cannot be read: No such file") }
        return Array("a secret of some length\n".utf8)
    }
    do throws(ConfigurationFaults) {
        let configuration = try ServiceConfiguration(text, environment: environment)
        precondition(configuration.difference(to: configuration).isEmpty, "a configuration differs from itself")
        precondition(
            configuration.http.isLoopback || configuration.http.usesTLS || configuration.http.allowsPlainHTTP,
            "plain HTTP beyond this machine")
        precondition(
            configuration.http.isLoopback || configuration.http.token != nil || configuration.http.allowsNoToken,
            "no token beyond this machine")
        for stream in configuration.streams { check(stream) }
    } catch {
        precondition(!error.faults.isEmpty, "a configuration is refused without a reason")
        for fault in error.faults {
            precondition((1...lines).contains(fault.line), "a fault in line \(fault.line) of \(lines)")
            precondition(!fault.text(in: "f").contains("\n"), "a fault of several lines")
        }
    }
}

/// The input is the body of a request that makes a stream, then that of one that changes it.
func fuzzAPIInput(_ input: UnsafeRawBufferPointer) {
    var service = ServiceConfiguration()
    service.folders = ["/srv/media"]
    do throws(SettingFault) {
        let texts = try RequestBody.texts(json: Array(input))
        let places = ["input": "srt://:9000", "output": "udp://127.0.0.1:9"]
        let base = try service.stream("base", places, beside: [])
        check(try service.stream(base, changedBy: texts, beside: [base]))
        let new = try service.stream("new", places.merging(texts.compactMapValues { $0 }) { $1 }, beside: [])
        check(new)
        for file in new.values.files where !StreamValues.usualFiles.contains(file.path) {
            precondition(file.path.hasPrefix("/srv/media/"), "a file elsewhere")
        }
        if let path = new.values.settings.record.pattern?.text {
            precondition(path.hasPrefix("/srv/media/"), "a recording elsewhere")
        }
        for leg in [new.input] + new.outputs {
            if case .file(let path) = leg.url { precondition(path.hasPrefix("/srv/media/"), "a file elsewhere") }
        }
    } catch {
        precondition(!"\(error.key): \(error.text)".contains("\n"), "a fault of several lines")
    }
}

/// The input is a text with a unit, or the pattern of a recording's names.
func fuzzUnitTexts(_ input: UnsafeRawBufferPointer) {
    guard let text = String(validating: input, as: UTF8.self) else { return }
    func check<Value: Equatable>(_ value: Value?, _ write: (Value) -> String, _ read: (String) -> Value?) {
        guard let value else { return }
        precondition(read(write(value)) == value, "\(write(value)) is not read as it was written")
    }
    check(TimeText.read(text), TimeText.write, TimeText.read)
    check(LongTimeText.read(text), LongTimeText.write, LongTimeText.read)
    check(MemoryText.read(text), MemoryText.write, MemoryText.read)
    check(FileSizeText.read(text), FileSizeText.write, FileSizeText.read)
    check(BitRateText.read(text), BitRateText.write, BitRateText.read)
    if let time = PastTime.read(text) { precondition(abs(time.seconds) <= 86_400, "a time of more than a day") }
    do throws(RecordPattern.Fault) {
        let pattern = try RecordPattern(text)
        for copy in [1, 2, 99] {
            let path = pattern.path(stream: "cam.1", time: 1_700_000_000, copy: copy)
            let root = pattern.root(stream: "cam.1")
            precondition(path.hasPrefix(root == "/" ? root : root + "/"), "a file outside of its folder")
            let below = Substring(path.utf8.dropFirst(root == "/" ? 1 : root.utf8.count + 1))
            let parts = below.split(separator: "/", omittingEmptySubsequences: false)
            precondition(parts.count == pattern.depth + 1, "another depth")
            for (level, part) in parts.enumerated() {
                precondition(
                    pattern.matches(String(part), level: level, stream: "cam.1"), "the pattern does not know its own name")
            }
        }
    } catch {
        precondition(!error.text.contains("\n"), "a fault of several lines")
    }
}

/// A worker reads what the service writes.
private func check(_ stream: StreamDefinition) {
    precondition((try? StreamValues(stream.values.texts)) == stream.values, "settings do not survive being written")
    for leg in [stream.input] + stream.outputs {
        precondition((try? StreamURL(leg.textWithSecrets)) != nil, "a worker cannot read \(leg)")
        precondition(!"\(leg)".contains("a secret of some length"), "a secret is shown")
    }
}
