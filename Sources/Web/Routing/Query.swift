/// The part of a URL after `?`, as the routes' parameters allow it.
enum Query {
    /// The values by name. Unknown names, names given twice and values of another form are faults.
    static func parse(_ text: String?, _ parameters: [Route.Parameter]) throws(Problem) -> [String: String] {
        var values: [String: String] = [:]
        for pair in (text ?? "").split(separator: "&") {
            let halves = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentCoding.decode(halves[0]),
                let value = PercentCoding.decode(halves.count > 1 ? halves[1] : "")
            else {
                throw Problem(.badRequest, "the query is not percent-encoded UTF-8")
            }
            guard let parameter = parameters.first(where: { $0.place == .query && $0.name == name }) else {
                let known = parameters.filter { $0.place == .query }.map(\.name)
                throw Problem(
                    .badRequest, key: name,
                    known.isEmpty
                        ? "there are no query parameters here; leave out everything after ?"
                        : "there is no such query parameter; there are \(known.joined(separator: ", "))")
            }
            guard values[name] == nil else { throw Problem(.badRequest, key: name, "\(name) is given twice; give it once") }
            guard parameter.schema.accepts(value) else {
                throw Problem(.badRequest, key: name, "\(name) is \(parameter.schema.wanted)")
            }
            values[name] = value
        }
        return values
    }
}
