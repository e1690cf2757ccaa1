import Logging
import ServiceConfiguration
import Settings

// Streams of the API that a file keeps over restarts of the service.
extension Supervisor {
    /// Adds the streams that the file keeps, beside those of the configuration. Call ``regroup()`` afterwards.
    func addKept() {
        guard let keeper else { return }
        let kept: [KeptStream]
        do throws(ConfigurationEnvironment.ReadFailure) {
            kept = try keeper.read()
        } catch {
            let rest = "the service runs without the streams that the API made; the file is set aside when others are kept"
            logger.error("\(keeper.path): \(error.text): \(rest)")
            return
        }
        for stream in kept {
            guard let fault = addKept(stream) else { continue }
            leftOut.append(stream)
            logger.warning(
                "\(keeper.path): the stream is not used: \(fault)", metadata: ["stream": "\(Self.line(stream.name))"])
        }
    }

    /// - Returns: why the stream cannot run.
    private func addKept(_ kept: KeptStream) -> String? {
        if supervised[kept.name] != nil { return "the configuration file has a stream of this name, which wins" }
        guard supervised.count < configuration.limits.streams else {
            return "there are \(supervised.count) streams already, as many as limits.streams allows"
        }
        do throws(SettingFault) {
            let definition = try configuration.stream(kept, beside: supervised.values.map(\.definition))
            if let fault = add(definition, configured: nil) { return fault.text }
        } catch {
            return error.key.isEmpty ? error.text : "\(error.key): \(error.text)"
        }
        guard let stream = supervised[kept.name] else { return nil }
        (stream.given, stream.isKept) = (kept.given, true)
        if kept.isStopped { stopOnPurpose(stream) }
        return nil
    }

    /// Writes the streams that the API made into the file.
    /// - Returns: whether they are there now. Where they are not, the log says why.
    @discardableResult func keep() async -> Bool {
        guard let keeper else { return false }
        let own = supervised.values.filter { $0.configured == nil && $0.seat == nil }
        let names = Set(own.map(\.name))
        let all =
            own.map { $0.definition.kept(given: $0.given, isStopped: $0.condition.isStoppedOnPurpose) }
            + leftOut.filter { !names.contains($0.name) }
        if let fault = await keeper.write(all) {
            logger.warning("streams of the API do not survive the service: \(fault)")
            for stream in own { stream.isKept = false }
            return false
        }
        for stream in own { stream.isKept = true }
        return true
    }

    /// The configuration file has a stream now that the API had made: it wins.
    func giveWay(_ stream: SupervisedStream) {
        guard stream.isKept, let keeper else { return }
        stream.isKept = false
        leftOut.removeAll { $0.name == stream.name }
        leftOut.append(stream.definition.kept(given: stream.given, isStopped: stream.condition.isStoppedOnPurpose))
        logger.warning(
            "\(keeper.path): the stream is not used any more: the configuration file has one of this name, which wins",
            metadata: ["stream": "\(stream.name)"])
    }

    /// Stops a stream until somebody restarts it.
    func stopOnPurpose(_ stream: SupervisedStream) {
        stream.condition.stopOnPurpose()
        admission.forget(stream.name)
        tell(stream, .refused("it was stopped by the API: a restart starts it again"))
    }
}
