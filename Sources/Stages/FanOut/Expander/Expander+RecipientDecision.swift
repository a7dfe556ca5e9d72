internal import Identifiers
internal import Jobs
internal import Payloads
internal import Sends
internal import Store

// The decision whether a recipient gets the content of an expansion, and in which version. It depends only on
// versions, which have one order for each recipient. So the order in which expansions are walked does not matter.
// `RecipientRows` says which event the expansion is for the recipient, and `ScopePhase` what that event does.

extension Expander {
    /// Decides whether a recipient gets an expansion, and keeps a raised timestamp in the recipient's row.
    ///
    /// - Parameters:
    ///   - scoped: the recipient's entry, if the expansion names recipients.
    ///   - own: the recipient's row in the group, if there can be one.
    ///   - whole: the group's row. Empty for a private group.
    mutating func decide(
        for scoped: Expansion.ScopedRecipient?, own: LaneScope?, whole: LaneScope, in walk: ExpansionWalk
    ) throws(StoreError) -> RecipientDecision {
        let expansion = walk.expansion
        var push = PushContentVersion(expansion, scoped)
        if expansion.isCancelled(by: whole) || own.map(expansion.isCancelled) ?? false { return .drop }
        if expansion.content.event != .end, !isWanted(until: expansion.deadline) { return .drop }
        let rows = RecipientRows(whole: whole, own: own)
        let event = rows.event(of: expansion, generation: push.generation, version: push.version)
        let generation = rows.generation(joinedBy: push.generation, with: expansion.content.event)
        switch rows.phase(in: generation).after(event).action {
        case .openGeneration, .joinGeneration, .sendState, .endGeneration, .repeatEnd: break
        case .refuseUpdate: return .exclude(ExpansionExclusion.ended)
        case .nothing:
            // The tally tells recipients that have ended from those that get a newer send.
            let hasEndedAlone = event == .overtakenStart && rows.hasEndedAlone(since: generation)
            let isEnded = event == .overtakenEnd || hasEndedAlone
            return isEnded ? .exclude(ExpansionExclusion.ended) : .drop
        case .restoreState, .dropRest, .sendNewestState, .sendNewestEnd, .leavePhone, .excludeFromStarts,
            .forgetTokens:
            preconditionFailure("a send has the effect of another event")
        }
        let isStart = expansion.content.event == .start
        if expansion.content.event != .end { push.generation = generation }
        let timestamp = rows.timestamp(
            of: expansion.content.event, version: push.version, generation: generation,
            planned: push.timestamp)
        if let own, timestamp > push.timestamp, !expansion.isDryRun {
            keep(timestamp, of: isStart ? generation : push.version, opensGeneration: isStart, in: own)
        }
        push.timestamp = timestamp
        if isStart {
            var newest = push
            newest.catchUp(with: whole, without: rows.cancelledSends)
            if let own { newest.catchUp(with: own, without: rows.cancelledSends) }
            // If the newest state does not fit into a start, it follows as an update after the phone has
            // reported its token.
            if newest.carriesNewerState, let variant = variantIfItFits(of: sharedPush(of: newest, walk)) {
                return .send(variant, generation: newest.generation, version: newest.version)
            }
        }
        return .send(
            variant(of: sharedPush(of: push, walk)), generation: push.generation, version: push.version)
    }

    /// Keeps a raised timestamp in the recipient's row, whose key is `rowKey`, so that the next send goes above it.
    mutating func keep(
        _ timestamp: Int64, of version: Int64, opensGeneration: Bool = false, in own: LaneScope
    ) {
        guard version > own.timestampVersion else { return }
        var own = own
        if opensGeneration { (own.generation, own.generationTimestamp) = (version, timestamp) }
        (own.timestamp, own.timestampVersion) = (timestamp, version)
        set(own, under: rowKey)
    }

    private func sharedPush(of push: PushContentVersion, _ walk: ExpansionWalk) -> SharedPush {
        let expansion = walk.expansion
        var head = SheetHead(
            topic: walk.app.pushTopic, priority: expansion.priority, expiration: expansion.expiration,
            app: expansion.key.app, environment: .production, send: expansion.send,
            group: expansion.key.group, scope: push.scope, generation: push.generation,
            version: push.version, event: expansion.content.event, deadline: expansion.deadline,
            acceptedAt: expansion.acceptedAt)
        head.collapseID = expansion.collapseID
        head.isConflatable = expansion.isConflatable
        head.unknownStartPolicy = expansion.unknownStartPolicy
        return SharedPush(head: head, content: push.content, timestamp: push.timestamp)
    }
}

/// The push content for one recipient of an expansion.
private struct PushContentVersion {
    var content: PushContent
    var version: Int64
    var generation: Int64
    var scope: ScopeKind
    var timestamp: Int64
    /// Whether `content` has a newer state than the expansion's.
    var carriesNewerState = false

    init(_ expansion: Expansion, _ scoped: Expansion.ScopedRecipient?) {
        content = expansion.content
        generation = scoped?.generation ?? expansion.generation
        scope = scoped?.scope ?? (expansion.key.recipient == nil ? .group : .recipient)
        version = scoped?.version ?? expansion.version
        timestamp = scoped?.timestamp ?? expansion.timestamp
        // The state of a recipient's generation is at least as new as the generation.
        if expansion.content.event == .start { version = max(version, generation) }
    }

    /// Replaces the start's state by the newest state of the scope, so that a late start shows the same as
    /// the others.
    mutating func catchUp(with scope: LaneScope, without cancelled: Set<String>) {
        guard let newest = scope.standing(without: cancelled), newest.version >= version,
            newest.version >= generation, newest.content.event != .end
        else { return }
        if newest.version == version, newest.content.event == .start { return }
        (version, timestamp) = (newest.version, max(timestamp, newest.timestamp))
        content.replaceState(with: newest)
        carriesNewerState = true
    }
}
