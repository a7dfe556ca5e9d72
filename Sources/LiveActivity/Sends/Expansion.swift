package import JSON

/// A send as its planner hands it to a lane: a record of `expansions` or `expansions.urgent`. What is left of
/// it after a page goes back into the same lane as a continuation: the same record with a cursor.
package struct Expansion: Record, Hashable {
    package static let schemaVersion = 1

    /// A lane may have everybody whom a send names, and each stands there as an object of its own.
    package static let limits = JSONLimits(
        bytesMax: JSONLimits.record.bytesMax,
        keysMax: JSONLimits.record.keysMax + ScopedRecipient.fieldsMax * Audience.namesMax)

    /// Whose tokens it is for, of those in the lane.
    package enum Targets: Sendable, Hashable {
        case everyone
        case segments([String])
        case tags([String])
        case group
        /// These recipients, each with the version of its own scope.
        case recipients([ScopedRecipient])
        case activities([String])
    }

    package struct ScopedRecipient: Sendable, Hashable {
        /// Names of members in its object.
        static let fieldsMax = 4

        package var recipient: Recipient
        package var scope: SheetHead.Scope
        package var generation: Int64
        package var version: Int64

        package init(_ recipient: Recipient, scope: SheetHead.Scope, generation: Int64, version: Int64) {
            self.recipient = recipient
            self.scope = scope
            self.generation = generation
            self.version = version
        }
    }

    package var send: String
    package var key: GroupKey
    package var targets: Targets
    package var content: PushContent
    package var priority: Int
    package var collapseID: String?
    /// Of the whole group, or of the private group's owner; recipients have their own.
    package var generation: Int64
    package var version: Int64
    /// Updates of this life before this one.
    package var ordinal = 0
    /// Seconds since 1970.
    package var deadline: Int64
    package var expiration: Int64
    /// Milliseconds since 1970.
    package var acceptedAt: Int64
    package var conflate = true
    package var onUnknownStart = Send.UnknownStart.skip
    package var restart = false
    /// Of a start: milliseconds since 1970 when the one that opened the life was accepted.
    package var openedAt: Int64?
    /// Of a start to users: the version of a life of their own, for those whom an end by an activity's name has taken out
    /// of the group's. Only their lanes know who they are.
    package var reopens: Int64?
    package var dryRun = false
    /// Of a start of one recipient: it carries what that one was told last, which is not the group's.
    package var saysOwnState = false
    /// It answers an enquiry of its lane, which has had it already where it was in the know by then. Nobody counts it.
    package var isAnswer = false
    /// Of an update: what its recipients were told before may be known in the lanes alone, which keep it for the case
    /// that this is taken back.
    package var keepsReplaced = false
    /// Of a start that has come to its lane: sends to lists that it waits for, so that it carries what they say, starts again
    /// whom they end, and finds the lives that they open.
    package var waitsFor: [String] = []
    /// Of a start that `reopens`: the end that named one activity before it, which it waits for.
    package var behindEnd: Int64?
    /// Seconds since 1970 when it waits for that no longer; nil before it has waited for anything.
    package var waitsUntil: Int64?
    /// Where a continuation goes on, as the lane's pages write it.
    package var cursor: [UInt8]?
    /// What the pages before did.
    package var tally = LaneTally()

    package init(
        send: String, key: GroupKey, targets: Targets, content: PushContent, priority: Int, generation: Int64,
        version: Int64, deadline: Int64, expiration: Int64, acceptedAt: Int64
    ) {
        self.send = send
        self.key = key
        self.targets = targets
        self.content = content
        self.priority = priority
        self.generation = generation
        self.version = version
        self.deadline = deadline
        self.expiration = expiration
        self.acceptedAt = acceptedAt
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("send", send)
        writer.field(key)
        writer.field("targets", targets)
        writer.content(content)
        writer.field("priority", priority)
        writer.field("collapseId", collapseID)
        writer.field("generation", generation)
        writer.field("version", version)
        writer.field("ordinal", ordinal == 0 ? nil : ordinal)
        writer.field("deadline", deadline)
        writer.field("expiration", expiration)
        writer.field("acceptedAt", acceptedAt)
        writer.field("conflate", conflate ? nil : false)
        writer.field("onUnknownStart", onUnknownStart == .skip ? nil : onUnknownStart.rawValue)
        writer.field("restart", restart ? true : nil)
        writer.field("openedAt", openedAt)
        writer.field("reopens", reopens)
        writer.field("dryRun", dryRun ? true : nil)
        writer.field("saysOwnState", saysOwnState ? true : nil)
        writer.field("answer", isAnswer ? true : nil)
        writer.field("keepsReplaced", keepsReplaced ? true : nil)
        writer.field("waitsFor", waitsFor.isEmpty ? nil : waitsFor)
        writer.field("behindEnd", behindEnd)
        writer.field("waitsUntil", waitsUntil)
        if let cursor {
            writer.field("cursor", Hex.text(cursor))
            tally.write(to: &writer)
        }
    }

    package init(from record: JSONObject) {
        self.init(
            send: record["send"].name(), key: record.groupKey(), targets: record["targets"].targets(),
            content: record.content(), priority: record["priority"].int(in: 1...10),
            generation: record["generation"].version(), version: record["version"].version(),
            deadline: record["deadline"].seconds(), expiration: record["expiration"].seconds(),
            acceptedAt: record["acceptedAt"].time())
        collapseID = record["collapseId"].optional?.name()
        ordinal = record["ordinal"].optional?.int(in: 0...Int.max) ?? 0
        conflate = record["conflate"].optional?.bool() ?? true
        onUnknownStart = record["onUnknownStart"].optional?.choice(of: Send.UnknownStart.self) ?? .skip
        restart = record["restart"].optional?.bool() ?? false
        openedAt = record["openedAt"].optional?.time()
        reopens = record["reopens"].optional?.version()
        dryRun = record["dryRun"].optional?.bool() ?? false
        saysOwnState = record["saysOwnState"].optional?.bool() ?? false
        isAnswer = record["answer"].optional?.bool() ?? false
        keepsReplaced = record["keepsReplaced"].optional?.bool() ?? false
        waitsFor = record["waitsFor"].optional?.names(countMax: LaneScope.openListsMax) ?? []
        behindEnd = record["behindEnd"].optional?.version()
        waitsUntil = record["waitsUntil"].optional?.seconds()
        if let cursor = record["cursor"].optional {
            self.cursor = cursor.hex()
            tally = LaneTally(from: record)
        }
    }
}

/// What a lane did with an expansion, so that a send's total is known.
package struct LaneTally: Sendable, Hashable {
    /// Tokens that the send is for.
    package var targeted = 0
    /// Those that became jobs.
    package var expanded = 0
    /// The same by the phones' system, its first number; 0 where a phone has not said.
    package private(set) var systems: [UInt8: Int] = [:]
    /// Those that did not, as something newer took the send's place.
    package var dropped = 0
    /// Those that could not be reached, by reason.
    package var excluded: [String: Int] = [:]
    /// Of a dry run: what would have become jobs, by environment.
    package var environments: [String: Int] = [:]
    /// Of a dry run: the size of the largest body.
    package var bodyBytes = 0

    private static let reasonsMax = 100
    /// Systems that are told apart; phones may say anything, and what is beyond counts as not said.
    private static let systemsMax = 32
    static let systemUnsaid = ReceiptLines.systemUnsaid

    package init() {}

    /// There was nobody whom the send could be for.
    package var isEmpty: Bool { targeted == 0 && excluded.isEmpty }

    /// A token became a job.
    package mutating func expand(on system: OSVersion?) {
        expanded += 1
        let number = system?.major ?? Self.systemUnsaid
        let isKnown = systems[number] != nil || systems.count < Self.systemsMax
        systems[isKnown ? number : Self.systemUnsaid, default: 0] += 1
    }

    func write(to writer: inout JSONWriter) {
        writer.field("targeted", targeted)
        writer.field("expanded", expanded)
        writer.field("dropped", dropped == 0 ? nil : dropped)
        Self.write("excluded", by: "reason", excluded, to: &writer)
        Self.write("environments", by: "environment", environments, to: &writer)
        let named = Dictionary(uniqueKeysWithValues: systems.map { (String($0.key), $0.value) })
        Self.write("systems", by: "system", named, to: &writer)
        writer.field("bodyBytes", bodyBytes == 0 ? nil : bodyBytes)
    }

    private static func write(
        _ name: StaticString, by label: StaticString, _ counts: [String: Int], to writer: inout JSONWriter
    ) {
        if counts.isEmpty { return }
        writer.name(name)
        writer.beginArray()
        for (what, count) in counts.sorted(by: { $0.key < $1.key }) {
            writer.beginObject()
            writer.field(label, what)
            writer.field("count", count)
            writer.endObject()
        }
        writer.endArray()
    }

    init(from record: JSONObject) {
        targeted = record["targeted"].int(in: 0...Int.max)
        expanded = record["expanded"].int(in: 0...Int.max)
        dropped = record["dropped"].optional?.int(in: 0...Int.max) ?? 0
        excluded = Self.counts(record["excluded"], by: "reason")
        environments = Self.counts(record["environments"], by: "environment")
        for (name, count) in Self.counts(record["systems"], by: "system") {
            systems[UInt8(name) ?? Self.systemUnsaid, default: 0] += count
        }
        bodyBytes = record["bodyBytes"].optional?.int(in: 0...Int.max) ?? 0
    }

    private static func counts(_ value: JSONValue, by label: StaticString) -> [String: Int] {
        var counts: [String: Int] = [:]
        guard var elements = value.optional?.array(countMax: reasonsMax) else { return counts }
        while let element = elements.next() {
            let object = element.object()
            counts[object[label].name()] = object["count"].int(in: 0...Int.max)
        }
        return counts
    }
}
