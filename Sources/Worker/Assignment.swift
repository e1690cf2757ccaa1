import Endpoint
import Media
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
        self.init(
            input: try Self.url(assignment.input, "input"), outputs: outputs, options: values.options, settings: values.settings
        )
        // A receiver may come at any time, and the stream waits for it.
        firstConnection = nil
        fitsMachine = true
        var files = files.makeIterator()
        if case .file = self.input { inputDescriptor = files.next()?.claim() }
        for (index, output) in outputs.enumerated() {
            if case .file = output { outputDescriptors[index] = files.next()?.claim() }
        }
    }

    private static func url(_ text: String, _ key: String) throws(SettingFault) -> StreamURL {
        do throws(TransportError) {
            return try StreamURL(text)
        } catch {
            throw SettingFault(key, error.description)
        }
    }
}
