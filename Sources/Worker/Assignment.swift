import Endpoint
import Media
import Packets
import Relay
import Settings
import WorkerProtocol

extension RelayConfiguration {
    /// What a supervisor's assignment means.
    /// - Parameter files: of the files that the URLs name, inputs first. Those that are used are claimed.
    init(
        _ assignment: WorkerAssignment, _ values: StreamValues, files: some Sequence<PassedDescriptor>
    ) throws(SettingFault) {
        guard !assignment.outputs.isEmpty else { throw SettingFault("outputs", "a stream has at least one output") }
        var outputs: [StreamURL] = []
        for output in assignment.outputs { outputs.append(try Self.url(output, "outputs")) }
        var urls = [try Self.url(assignment.input, "input")] + outputs
        var descriptions = assignment.descriptions.makeIterator()
        for index in urls.indices {
            guard case .sdp(var endpoint) = urls[index], !endpoint.isWritten else { continue }
            endpoint.content = descriptions.next()?.text
            urls[index] = .sdp(endpoint)
        }
        self.init(
            input: urls.removeFirst(), outputs: urls, options: values.options, settings: values.settings)
        // A receiver may come at any time, and the stream waits for it.
        firstConnection = nil
        fitsMachine = true
        var files = files.makeIterator()
        switch self.input {
        case .file: inputDescriptor = files.next()?.claim()
        case .call(let endpoint) where endpoint.tcp != nil: callListener = Self.listener(files.next())
        case .sdp, .srt, .rtp, .udp, .call, .standardStream: break
        }
        for (index, output) in outputs.enumerated() {
            switch output {
            // All calls of a stream share one.
            case .call(let endpoint) where endpoint.tcp != nil && callListener == nil:
                callListener = Self.listener(files.next())
            case .file: outputDescriptors[index] = files.next()?.claim()
            case .sdp(let endpoint) where endpoint.isWritten: outputDescriptors[index] = files.next()?.claim()
            case .sdp, .srt, .rtp, .udp, .call, .standardStream: break
            }
        }
    }

    private static func listener(_ passed: PassedDescriptor?) -> SharedDescriptor? {
        passed.map { SharedDescriptor(Descriptor(owning: $0.claim())) }
    }

    private static func url(_ text: String, _ key: String) throws(SettingFault) -> StreamURL {
        do throws(TransportError) {
            return try StreamURL(text)
        } catch {
            throw SettingFault(key, error.description)
        }
    }
}
