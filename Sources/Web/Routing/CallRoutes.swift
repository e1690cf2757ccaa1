import Hummingbird
import Media
import WorkerProtocol

extension Routes {
    /// WebRTC calls: WHIP brings pictures, WHEP takes them.
    static let calls: [Route] = CallSide.allCases.flatMap { side in
        let (id, path) = side == .publish ? ("Whip", CallAnswers.path(.publish)) : ("Whep", CallAnswers.path(.play))
        let name = Route.Parameter(
            name: "name", place: .path, about: "The name of the stream's \(id.lowercased()): leg.", schema: .text(most: 64))
        let takeover = Route.Parameter(
            name: "takeover", about: "`true` takes the place of somebody who publishes and is still heard.",
            schema: .choice(["true", "false"]))
        let layer = Route.Parameter(
            name: "layer",
            about: "What to get: the enhanced pictures, those that are sent, or sound alone; without it what the link carries.",
            schema: .choice(ViewerLayer.allCases.map(\.rawValue)))
        let profile = Route.Parameter(
            name: "profile",
            about: "`baseline` gets H.264 of the constrained baseline profile, up to 1280x720, by one more encode.",
            schema: .choice(ViewerProfile.allCases.map(\.rawValue)))
        let call = Route.Parameter(name: "call", place: .path, about: "The call's id.", schema: .text(most: 64))
        return [
            Route(
                method: .post, path: path + "/{name}", id: "offer\(id)",
                summary: side == .publish
                    ? "Publishes to a stream by WebRTC (WHIP, RFC 9725)." : "Watches a stream by WebRTC (WHEP).",
                access: .calls, parameters: side == .publish ? [name, takeover] : [name, layer, profile],
                textType: CallAnswers.description,
                success: .init(
                    status: .created, about: "The answer (SDP).", content: [(CallAnswers.description, nil)],
                    headers: [
                        "Location": "The call's path.", "ETag": "Stands for the call's ICE session.",
                        "Accept-Patch": "What the call's path accepts.", "Link": "The ICE servers, where any are configured.",
                    ]),
                problems: [.tokenNeeded, .notAcceptable, .exists, .noRoom], admit: CallAnswers.admit(side),
                answer: CallAnswers.offer(side)),
            Route(
                method: .patch, path: path + "/{name}/{call}", id: "trickle\(id)",
                summary:
                    "Tells candidates of the peer (RFC 8840), which change nothing: the service's end is ICE-lite. With `If-Match: *` "
                    + "and new names it restarts ICE, and the call goes on from another network.",
                access: .calls, parameters: [name, call], textType: CallAnswers.fragment,
                success: .init(
                    about: "ICE restarts: the service's new names and its candidates.", content: [(CallAnswers.fragment, nil)],
                    headers: ["ETag": "Stands for the new ICE session."]),
                nothing: "The candidates are known.",
                problems: [.tokenNeeded, .invalid, .preconditionFailed, .preconditionRequired], admit: CallAnswers.admit(side),
                answer: CallAnswers.trickle(side)),
            Route(
                method: .delete, path: path + "/{name}/{call}", id: "hangUp\(id)", summary: "Ends a call.", access: .calls,
                parameters: [name, call], success: .init(about: "It is over."), problems: [.tokenNeeded],
                admit: CallAnswers.admit(side), answer: CallAnswers.hangUp(side)),
        ]
    }

    private static let viewersCall: [Route.Parameter] = [
        .init(name: "name", place: .path, about: "The name of the stream's whep: leg.", schema: .text(most: 64)),
        .init(name: "call", place: .path, about: "The call's id.", schema: .text(most: 64)),
    ]

    /// A viewer's call goes on with other pictures.
    static let layer = Route(
        method: .put, path: CallAnswers.path(.play) + "/{name}/{call}/layer", id: "chooseLayer",
        summary: "A viewer gets another layer from now on, from a keyframe on: `auto` is what the link carries.",
        access: .calls,
        parameters: viewersCall,
        body: .object("", ["layer": .choice(CallAnswers.layers)]),
        success: .init(status: .noContent, about: "It is known."), problems: [.tokenNeeded],
        admit: CallAnswers.admit(.play), answer: CallAnswers.chooseLayer)

    /// What a viewer says of its own picture. Whoever knows the call's id is that viewer.
    static let freezes = Route(
        method: .put, path: CallAnswers.path(.play) + "/{name}/{call}/freezes", id: "tellFreezes",
        summary: "A viewer says how often its own picture has stood still. The list of callers shows it; nothing else follows.",
        access: .calls,
        parameters: viewersCall,
        body: .object("", ["freezes": .integer(0...CallAnswers.mostFreezes)]),
        success: .init(status: .noContent, about: "It is known."), problems: [.tokenNeeded],
        admit: CallAnswers.admit(.play), answer: CallAnswers.tellFreezes)
}
