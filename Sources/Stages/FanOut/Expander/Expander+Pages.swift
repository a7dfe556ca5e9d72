internal import Identifiers
internal import Payloads
internal import Registry
internal import Sends
internal import Store

// From a page of tokens to jobs.

/// The decision about a recipient's tokens.
enum RecipientDecision {
    /// A newer send supersedes this one.
    case drop
    case exclude(String)
    case send(JobOutput.Variant, generation: Int64, version: Int64)
}

/// The expander's own reasons why a reachable token gets no job. The registry has more reasons.
enum ExpansionExclusion {
    /// The ledger has a start on the installation in this generation.
    static let started = "started"
    /// The recipient's generation in the group has ended, or the activity by its id.
    static let ended = "ended"
    /// The send names a user without a token for it. It counts a person and not a token, so `targeted` does
    /// not include it.
    static let withoutToken = "without_token"
}

extension Expander {
    /// Counts the rows of a page, decides for each token, and adds the jobs to the output.
    ///
    /// - Parameters:
    ///   - named: the recipients of a list, by their texts.
    ///   - isOfJoined: whether the page is of activities that have joined the group.
    mutating func take(
        _ page: borrowing TokenPage, of walk: inout ExpansionWalk, whole: LaneScope,
        named: [[UInt8]: Expansion.ScopedRecipient], isOfJoined: Bool = false
    ) throws(StoreError) {
        walk.rows += page.count + page.exclusions.total
        walk.expansion.tally.count(page.exclusions)
        if page.isEmpty { return }
        let isStart = walk.expansion.content.event == .start
        var ledger: LedgerPart?
        // All tokens of a page get the same decision, unless recipients are named or have their own rows.
        let shared = named.isEmpty ? try decide(for: nil, own: nil, whole: whole, in: walk) : nil
        let isAlike = named.isEmpty && whole.namesWithRows.isEmpty
        var decision = shared ?? .drop
        var recipient: [UInt8] = []
        var endedActivities: [LaneScope.EndedActivity] = []
        let keys = walk.expansion.key.group.map { LedgerKeyWriter(app: walk.expansion.key.app, group: $0) }
        for index in 0..<page.count {
            if !isStart, page[index].group == nil {
                // An activity that has neither reported nor joined this group belongs to another one.
                let key = walk.expansion.key
                if let group = key.group, try !isMember(page[index], of: group, app: key.app) { continue }
            } else if isOfJoined {
                // This activity had joined the group and has reported it since. So it is in another page.
                continue
            }
            walk.expansion.tally.targeted += 1
            if !isAlike, recipient.isEmpty || !recipient.equals(page[index].recipient) {
                recipient = [UInt8](copying: page[index].recipient)
                if !named.isEmpty { walk.reached.insert(recipient) }
                var own: LaneScope?
                if let keys, !named.isEmpty || whole.namesWithRows.mayContain(recipient.span) {
                    keys.writeScopeKey(of: recipient.span, into: &rowKey)
                    own = try table.scope(for: rowKey)
                }
                endedActivities = own?.endedActivities ?? []
                if own == nil, let shared {
                    decision = shared
                } else {
                    decision = try decide(for: named[recipient], own: own, whole: whole, in: walk)
                }
            }
            switch decision {
            case .drop: walk.expansion.tally.dropped += 1
            case .exclude(let reason): walk.expansion.tally.excludedByReason[reason, default: 0] += 1
            case .send(let variant, let generation, let version):
                // An END by the activity's id counts for its own generation. If the phone has missed that END, the
                // activity still runs, and a later generation includes it again.
                if !endedActivities.isEmpty, let activity = page[index].activity,
                    endedActivities.contains(where: { $0.activity == activity && $0.endVersion > generation })
                {
                    walk.expansion.tally.excludedByReason[ExpansionExclusion.ended, default: 0] += 1
                    continue
                }
                if isStart, let keys {
                    if ledger?.generation != generation || ledger?.start.row.version != version {
                        ledger = LedgerPart(generation, version: version, by: walk.expansion, at: latest)
                    }
                    guard let ledger,
                        try recordStart(of: page[index], as: ledger, keys: keys, by: walk.expansion)
                    else {
                        walk.expansion.tally.excludedByReason[ExpansionExclusion.started, default: 0] += 1
                        continue
                    }
                }
                if walk.expansion.targets == .newMembers,
                    !mayHaveEarlierActivities(endVersion: whole.endVersion), let keys,
                    let start = try start(of: page[index], in: generation, keys), start.version >= version
                {
                    // The start has brought the phone this state.
                    continue
                }
                add(page[index], as: variant, of: &walk)
            }
        }
    }

    private mutating func add(
        _ row: borrowing TokenPageRow, as variant: JobOutput.Variant, of walk: inout ExpansionWalk
    ) {
        walk.expansion.tally.countJob(on: row.os)
        if walk.expansion.isDryRun {
            walk.expansion.tally.jobsByEnvironment[row.environment.rawValue, default: 0] += 1
            walk.expansion.tally.largestBodyBytes = max(
                walk.expansion.tally.largestBodyBytes, output.bodyBytes(of: variant))
            return
        }
        let type = walk.expansion.content.event == .start ? nil : row.attributesType
        output.add(row, type: type, as: variant, isUrgent: walk.expansion.isForOneRecipient)
    }

    // MARK: The ledger

    /// The parts that the ledger rows of a page share.
    private struct LedgerPart {
        let generation: Int64
        let text: [UInt8]
        let start: EncodedStart
        /// The time at which the generation opened, in milliseconds since 1970.
        let openedAt: Int64

        init(_ generation: Int64, version: Int64, by expansion: Expansion, at now: Int64) {
            self.generation = generation
            text = Array(String(generation).utf8)
            let isOwn = generation != expansion.generation
            if isOwn, generation == version {
                // This start opens the recipient's own generation.
                openedAt = expansion.acceptedAt
            } else if !isOwn, let time = expansion.openedAt {
                openedAt = time
            } else {
                openedAt = SendSequence.milliseconds(of: generation)
            }
            start = EncodedStart(
                LedgerRow(version: version, startedAt: now, type: expansion.content.attributesType ?? ""))
        }
    }

    /// Adds a start to the ledger. Returns false if this generation already has a start on the installation.
    private mutating func recordStart(
        of row: borrowing TokenPageRow, as ledger: LedgerPart, keys: LedgerKeyWriter, by expansion: Expansion
    ) throws(StoreError) -> Bool {
        if isStartedElsewhere(row, in: ledger, by: expansion) { return false }
        keys.writeLedgerKey(of: row.recipient, on: row.installation, generation: ledger.text, into: &rowKey)
        let isStarted = try table.hasStart(for: rowKey)
        if isStarted, !expansion.forcesRestart { return false }
        if expansion.isDryRun { return true }
        if isStarted, let known = try table.start(for: rowKey) {
            // There may be two activities now, and one of them may show the state of the older start. So the older
            // version counts.
            var changed = ledger.start.row
            changed.version = min(known.version, changed.version)
            changed.report = .ambiguous
            table.set(changed, under: rowKey)
        } else {
            table.set(start: ledger.start, under: rowKey)
        }
        return true
    }

    /// Whether a previous recipient of the installation may have received this start. That is the case if the send was
    /// accepted before the installation moved. Without `restart`, a generation that opened before the move also counts.
    private func isStartedElsewhere(
        _ row: borrowing TokenPageRow, in ledger: LedgerPart, by expansion: Expansion
    ) -> Bool {
        guard !row.hasMovedAway, let movedAt = row.movedAt else { return false }
        if expansion.acceptedAt < movedAt { return true }
        return !expansion.forcesRestart && ledger.openedAt < movedAt
    }
}

extension ExclusionCounts {
    /// Whether a report names a reason for at least one excluded row.
    var haveReportedReason: Bool { ExclusionReason.allCases.contains { self[$0] > 0 && $0.tallyName != nil } }
}

extension LaneTally {
    /// Counts exclusions. Recipients outside the audience are not counted.
    mutating func count(_ exclusions: ExclusionCounts) {
        if exclusions.total == 0 { return }
        for reason in ExclusionReason.allCases where exclusions[reason] > 0 {
            guard let name = reason.tallyName else { continue }
            excludedByReason[name, default: 0] += exclusions[reason]
            targeted += exclusions[reason]
        }
    }
}

extension ExclusionReason {
    /// Returns nil for rows outside the audience, and for recipients that another row reaches.
    var tallyName: String? {
        switch self {
        case .shadowed: "shadowed"
        case .activitiesOff: "activities_off"
        case .dismissed: "dismissed"
        case .otherEnvironment: "other_environment"
        case .expired: "expired"
        case .systemTooOld: "system_too_old"
        case .movedAway: "moved_away"
        case .notSelected, .reachedByTypedToken, .unregistered: nil
        }
    }
}
