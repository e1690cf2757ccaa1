import Endpoint
import Settings

/// Reads the session descriptions (`.sdp`) that a stream's legs name.
extension StreamReading {
    /// Reads the file of a description, so that its faults are known before the stream starts. A worker cannot open it.
    /// - Parameter base: what the leg was before.
    func described(
        _ leg: StreamLeg, _ endpoint: SDPEndpoint, isInput: Bool, base: StreamLeg?
    ) throws(SettingFault) -> StreamLeg {
        let key = isInput ? "input" : "output"
        guard isForFile else {
            // One that was there before stays.
            if let base, base.url.description == leg.url.description { return base }
            throw SettingFault(key, "names a session description (.sdp), which only the configuration file can give")
        }
        var endpoint = endpoint
        guard endpoint.path.isUsablePath, oneLine(endpoint.path) == endpoint.path else {
            throw SettingFault(key, "is the path of a session description, not \(endpoint.path.excerpt)")
        }
        endpoint.path = environment.absolute(endpoint.path)
        let place = endpoint.path.excerpt
        do throws(TransportError) {
            try endpoint.check(isInput: isInput)
        } catch {
            throw SettingFault(key, error.message)
        }
        guard !endpoint.isWritten else { return StreamLeg(endpoint) }
        let bytes: [UInt8]
        do throws(ConfigurationEnvironment.ReadFailure) {
            bytes = try environment.read(endpoint.path, StreamLeg.largestDescription)
        } catch {
            throw SettingFault(key, "\(place) \(error.text)")
        }
        guard let text = String(validating: bytes, as: UTF8.self) else { throw SettingFault(key, "\(place) is no UTF-8 text") }
        do throws(SDPFault) {
            let streams = try PlainRTP(parsing: text)
            if !isInput { _ = try streams.outputVideo() }
        } catch {
            throw SettingFault(key, "\(place): \(error)")
        }
        endpoint.content = text
        return StreamLeg(endpoint)
    }

    /// What is wrong with a stream's descriptions together.
    static func fault(ofDescriptionsIn legs: [StreamLeg]) -> String? {
        let size = legs.reduce(0) { size, leg in
            if case .sdp(let endpoint) = leg.url { size + (endpoint.content?.utf8.count ?? 0) } else { size }
        }
        guard size > StreamDefinition.largestDescriptions else { return nil }
        return "is read with session descriptions of \(size) bytes; a stream may have \(StreamDefinition.largestDescriptions)"
    }
}
