import HTTPTypes
import Hummingbird

/// The OpenAPI document, made from the route table.
enum OpenAPI {
    static let version = "1.0.0"

    static func document(_ routes: [Route], _ schemas: [String: Schema]) -> JSON {
        var paths: [String: JSON] = [:]
        for (path, group) in Dictionary(grouping: routes, by: \.path) {
            paths[path] = .object(
                Dictionary(group.map { ($0.method.rawValue.lowercased(), operation($0)) }) { first, _ in first })
        }
        return [
            "openapi": "3.1.0",
            "info": [
                "title": "Burnish", "version": .text(version),
                "description": "Streams of a Burnish service: what they do, their figures, and what may be changed.",
                "license": ["name": "MIT", "identifier": "MIT"],
            ],
            "servers": [["url": "/"]],
            "paths": .object(paths),
            "components": [
                "schemas": .object(
                    schemas.merging(["Problem": Problem.schema]) { first, _ in first }.mapValues(\.json)),
                "securitySchemes": ["token": ["type": "http", "scheme": "bearer"]],
            ],
        ]
    }

    private static func operation(_ route: Route) -> JSON {
        var members: [String: JSON] = [
            "operationId": .text(route.id), "summary": .text(route.summary), "responses": responses(of: route),
        ]
        switch route.access {
        case .open: members["security"] = []
        case .views: members["security"] = [["token": []], [:]]
        case .changes, .calls, .guests: members["security"] = [["token": []]]
        }
        if !route.parameters.isEmpty {
            members["parameters"] = .list(
                route.parameters.map {
                    [
                        "name": .text($0.name), "in": .text($0.place.rawValue), "description": .text($0.about),
                        "required": .bool($0.place == .path), "schema": $0.schema.json,
                    ]
                })
        }
        if let body = route.body {
            let types = ["application/json"] + route.bodyTypes
            members["requestBody"] = [
                "required": true,
                "content": .object(Dictionary(types.map { ($0, ["schema": body.json]) }) { first, _ in first }),
            ]
        }
        if let type = route.textType {
            members["requestBody"] = ["required": true, "content": .object([type: ["schema": ["type": "string"]]])]
        }
        return .object(members)
    }

    private static func responses(of route: Route) -> JSON {
        var success: [String: JSON] = ["description": .text(route.success.about)]
        if !route.success.content.isEmpty {
            success["content"] = .object(
                Dictionary(route.success.content.map { ($0.type, $0.schema.map { ["schema": $0.json] } ?? [:]) }) { first, _ in
                    first
                })
        }
        if !route.success.headers.isEmpty {
            success["headers"] = .object(
                route.success.headers.mapValues { ["description": .text($0), "schema": ["type": "string"]] })
        }
        var responses: [String: JSON] = ["\(route.success.status.code)": .object(success)]
        if let nothing = route.nothing { responses["204"] = ["description": .text(nothing)] }
        for (code, kinds) in Dictionary(grouping: problems(of: route), by: \.status.code) {
            responses["\(code)"] = [
                "description": .text(kinds.map(\.rawValue).joined(separator: ", ")),
                "content": ["application/problem+json": ["schema": Schema.named("Problem").json]],
            ]
        }
        return .object(responses)
    }

    /// What can go wrong on a route, the same on all and its own.
    static func problems(of route: Route) -> [Problem.Kind] {
        var kinds: [Problem.Kind] = [.badRequest, .wrongHost, .wrongOrigin, .tooLarge, .internalError, .unavailable]
        if route.access != .open { kinds.append(.tokenNeeded) }
        if route.parameters.contains(where: { $0.place == .path }) { kinds.append(.notFound) }
        if route.body != nil { kinds += [.wrongMediaType, .invalid] }
        if route.textType != nil { kinds.append(.wrongMediaType) }
        for kind in route.problems where !kinds.contains(kind) { kinds.append(kind) }
        return kinds
    }
}
