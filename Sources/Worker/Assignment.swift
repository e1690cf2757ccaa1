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
        guard let output = assignment.outputs.first, assignment.outputs.count == 1 else {
            throw SettingFault("outputs", "a stream has one output, not \(assignment.outputs.count)")
        }
        self.init(
            input: try Self.url(assignment.input, "input"), output: try Self.url(output, "outputs"),
            options: values.options, settings: values.settings)
        // A receiver may come at any time, and the stream waits for it.
        firstConnection = nil
        var files = files.makeIterator()
        if case .file = self.input { inputDescriptor = files.next()?.claim() }
        if case .file = self.output { outputDescriptor = files.next()?.claim() }
    }

    private static func url(_ text: String, _ key: String) throws(SettingFault) -> StreamURL {
        do throws(TransportError) {
            return try StreamURL(text)
        } catch {
            throw SettingFault(key, error.description)
        }
    }
}
