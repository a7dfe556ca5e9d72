internal import LiveActivity
internal import Store

// Whether a recipient gets what an expansion brings, and in which version. It goes by versions alone, which
// are in one order for each recipient: so it does not matter what overtook what on the way here.

extension Expander {
    /// - Parameters:
    ///   - scoped: where the expansion names recipients.
    ///   - own: the recipient's row in the group, where it may have one.
    ///   - whole: the group's; an empty one where the group is private.
    mutating func judge(
        _ scoped: Expansion.ScopedRecipient?, own: LaneScope?, whole: LaneScope, in walk: Walk
    ) throws(StoreError) -> Judgement {
        let expansion = walk.expansion
        var told = Told(expansion, scoped)
        if expansion.isTakenBack(by: whole) || own.map(expansion.isTakenBack) ?? false { return .drop }
        if expansion.content.event != .end, !isWanted(until: expansion.deadline) { return .drop }
        switch expansion.content.event {
        case .start:
            // An end stops every older start to the recipient, whatever the scope of either.
            // Whom a start has taken back in since is in a life of their own, which every later start joins.
            let life = max(told.generation, own?.generation ?? 0)
            if let own, own.endedAt > life { return .exclude(ExpansionExclusion.ended) }
            if whole.endedAt > told.generation { return .drop }
            told.generation = life
            // A send to one recipient is taken back under its group's key, too.
            let cancelled = Set(whole.cancelled + (own?.cancelled ?? []))
            var newest = told
            newest.catchUp(with: whole, without: cancelled)
            if let own { newest.catchUp(with: own, without: cancelled) }
            // Where the newest state has no room in a start, it comes as an update when the phone has said its token.
            if newest.isOwn, let variant = variant(of: newest, walk) {
                return .send(variant, generation: newest.generation, version: newest.version)
            }
        case .update:
            if whole.endedAt > told.version || (own?.endedAt ?? 0) > told.version { return .drop }
            let life = max(told.generation, whole.generation, own?.generation ?? 0)
            if let own, own.endedAt > life { return .exclude(ExpansionExclusion.ended) }
            if expansion.conflate, whole.updated > told.version { return .drop }
            // What was taken back takes nobody's place, and a start's state that of nothing that is there.
            if expansion.conflate, let own, own.updated > told.version,
                let standing = own.standing(without: Set(whole.cancelled + own.cancelled)),
                standing.version > told.version
            {
                return .drop
            }
            told.generation = life
        case .end:
            // A newer end says the same. An older one may still be on its way to some of them.
            if max(whole.endedAt, own?.endedAt ?? 0) > told.version {
                return .exclude(ExpansionExclusion.ended)
            }
            // Newer updates may have overtaken an end, and a phone ignores what is older than what it shows. What was
            // started since is not meant, and shows its start at least.
            let lives = [whole.generation, own?.generation ?? 0].filter { $0 > told.version }
            let latest = lives.min().map { $0 - 1 } ?? Int64.max
            told.timestamp = max(told.version, min(latest, max(whole.version, own?.version ?? 0)))
        }
        guard let variant = variant(of: told, walk) else { return .drop }
        return .send(variant, generation: told.generation, version: told.version)
    }

    /// Nil for a start in which the newest state has no room.
    private mutating func variant(of told: Told, _ walk: Walk) -> JobOutput.Variant? {
        let expansion = walk.expansion
        let name = VariantName(
            send: expansion.send, event: expansion.content.event, isAnswer: expansion.isAnswer,
            version: told.version, generation: told.generation, scope: told.scope,
            timestamp: told.timestamp, state: told.isOwn ? .own(told.content) : .shared)
        if let variant = variants[name] { return variant }
        let body = PayloadBuilder.body(told.content, timestamp: told.timestamp ?? told.version)
        if told.isOwn, !PayloadRules.hasRoom(for: told.content, as: body) {
            variants.updateValue(nil, forKey: name)
            return nil
        }
        var head = SheetHead(
            topic: walk.app.pushTopic, priority: expansion.priority, expiration: expansion.expiration,
            app: expansion.key.app, environment: .production, send: expansion.send,
            group: expansion.key.group, scope: told.scope, generation: told.generation,
            version: told.version, event: expansion.content.event, deadline: expansion.deadline,
            acceptedAt: expansion.acceptedAt)
        head.collapseID = expansion.collapseID
        head.conflate = expansion.conflate
        head.onUnknownStart = expansion.onUnknownStart
        let variant = output.variant(head, body: body)
        variants[name] = variant
        return variant
    }
}

/// What tells a body of a turn from the others of the same turn.
struct VariantName: Hashable {
    enum State: Hashable {
        case shared
        /// Of one recipient.
        case own(PushContent)
    }

    var send: String
    /// A start's state is said by its name to what is there already, too.
    var event: PushEvent
    var isAnswer = false
    var version: Int64
    var generation: Int64
    var scope: SheetHead.Scope
    var timestamp: Int64?
    var state = State.shared
}

/// What a recipient is told by an expansion.
private struct Told {
    var content: PushContent
    var version: Int64
    var generation: Int64
    var scope: SheetHead.Scope
    /// Of the body, where it is not the version.
    var timestamp: Int64?
    var isOwn = false

    init(_ expansion: Expansion, _ scoped: Expansion.ScopedRecipient?) {
        content = expansion.content
        generation = scoped?.generation ?? expansion.generation
        scope = scoped?.scope ?? (expansion.key.recipient == nil ? .group : .recipient)
        version = scoped?.version ?? expansion.version
        guard let scoped, expansion.content.event == .start, expansion.key.recipient == nil,
            scoped.version != scoped.generation, !expansion.saysOwnState
        else { return }
        // It joins a life: the planner knows a version of the recipient's own, whose content only the recipient's row
        // has. What the start carries itself is the group's newest.
        version = max(expansion.version, scoped.generation)
    }

    /// A start carries the newest state of its scope: whoever is started late sees what the others see.
    mutating func catchUp(with scope: LaneScope, without cancelled: Set<String>) {
        guard let newest = scope.standing(without: cancelled), newest.version >= version,
            newest.version >= generation, newest.content.event != .end
        else { return }
        if newest.version == version, newest.content.event == .start { return }
        version = newest.version
        content.contentState = newest.content.contentState ?? content.contentState
        content.staleDate = newest.content.staleDate
        content.relevanceScore = newest.content.relevanceScore ?? content.relevanceScore
        isOwn = true
    }
}

extension App {
    /// The header `apns-topic` of its Live Activities.
    var pushTopic: String { bundleID + ".push-type.liveactivity" }
}
