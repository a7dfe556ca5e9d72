package import Identifiers
package import JSON
package import Payloads
internal import RecordFormat

/// A send from the planner to a lane: a record of `expansions.urgent`. After a page, the rest of the walk goes into
/// `expansions` of the same lane as a continuation: the same record with a cursor.
package struct Expansion: JSONRecord, Hashable {
    /// Since version 2, timestamps are separate from versions.
    package static let schemaVersion = 2

    /// JSON limits for the largest record: all names of a send may lie in one lane, and each is an object.
    package static let limits = JSONLimits(
        bytesMax: JSONLimits.record.bytesMax,
        keysMax: JSONLimits.record.keysMax + ScopedRecipient.fieldsMax * Audience.namesMax)

    /// The recipients in the lane whose tokens receive the send.
    package enum Targets: Sendable, Hashable {
        case everyone
        case segments([String])
        case tags([String])
        case combination(AudienceCombination)
        case group
        /// The members of a group in a lane that has just subscribed. They get the group's newest state, unless they were
        /// started with it. It repeats an earlier expansion, so it is not counted in the send's progress.
        case newMembers
        /// These recipients, each with its scope and version.
        case recipients([ScopedRecipient])
        case activities([String])

        /// The targets of an audience that is not a list of users.
        package init(_ audience: Audience) {
            switch audience {
            case .everyone: self = .everyone
            case .segments(let names): self = .segments(names)
            case .tags(let names): self = .tags(names)
            case .combination(let combination): self = .combination(combination)
            case .group: self = .group
            case .activities(let names): self = .activities(names)
            case .users: preconditionFailure("users are split by their lanes")
            }
        }
    }

    package struct ScopedRecipient: Sendable, Hashable {
        /// The number of members in one recipient's object.
        static let fieldsMax = 5

        package var recipient: Recipient
        package var scope: ScopeKind
        package var generation: Int64
        package var version: Int64
        /// Seconds since 1970.
        package var timestamp: Int64

        /// - Parameter timestamp: nil if the versions are timestamps, as in records of version 1.
        package init(
            _ recipient: Recipient, scope: ScopeKind, generation: Int64, version: Int64,
            timestamp: Int64? = nil
        ) {
            self.recipient = recipient
            self.scope = scope
            self.generation = generation
            self.version = version
            self.timestamp = timestamp ?? version
        }
    }

    package var send: String
    package var key: ScopeKey
    package var targets: Targets
    package var content: PushContent
    package var priority: PushPriority
    package var collapseID: String?
    /// The generation of the whole group or of the private group's owner. Named recipients have their own.
    package var generation: Int64
    /// The place of the expansion's state in the order of its group.
    package var version: Int64
    /// The place of the expansion in the order of its group. It differs from the version of a start that joins a
    /// generation, because such a start carries an earlier state.
    package var sequence: Int64
    /// The timestamp that phones compare, in seconds since 1970. A lane raises it for a recipient that had a newer one.
    package var timestamp: Int64
    /// The number of updates in this generation before this one.
    package var precedingUpdates = 0
    /// Seconds since 1970 after which the send is no longer useful.
    package var deadline: Int64
    /// Seconds since 1970 until which APNs keeps a push for an unreachable phone.
    package var expiration: Int64
    /// The time at which the send was accepted, in milliseconds since 1970.
    package var acceptedAt: Int64
    package var isConflatable = true
    package var unknownStartPolicy = Send.UnknownStartPolicy.skip
    package var forcesRestart = false
    /// For a start: the time at which the start that opened the generation was accepted, in milliseconds
    /// since 1970.
    package var openedAt: Int64?
    package var isDryRun = false
    /// Whether the send is for one recipient. Its jobs go before those of sends to many.
    package var isForOneRecipient = false
    /// The position from which a continuation continues, in the format of the lane's pages.
    package var cursor: [UInt8]?
    /// The results of the previous pages.
    package var tally = LaneTally()

    /// - Parameter timestamp: nil if the versions are timestamps, as in records of version 1.
    package init(
        send: String, key: ScopeKey, targets: Targets, content: PushContent, priority: PushPriority,
        generation: Int64,
        version: Int64, timestamp: Int64? = nil, deadline: Int64, expiration: Int64, acceptedAt: Int64
    ) {
        self.send = send
        self.key = key
        self.targets = targets
        self.content = content
        self.priority = priority
        self.generation = generation
        self.version = version
        sequence = version
        self.timestamp = timestamp ?? version
        self.deadline = deadline
        self.expiration = expiration
        self.acceptedAt = acceptedAt
    }

    package func write(to writer: inout JSONWriter) {
        writer.field("send", send)
        writer.field(key)
        writer.field("targets", targets)
        writer.content(content)
        writer.field("priority", priority.rawValue)
        writer.field("collapseId", collapseID)
        writer.field("generation", generation)
        writer.field("version", version)
        writer.field("sequence", sequence == version ? nil : sequence)
        writer.field("timestamp", timestamp)
        writer.field("ordinal", precedingUpdates == 0 ? nil : precedingUpdates)
        writer.field("deadline", deadline)
        writer.field("expiration", expiration)
        writer.field("acceptedAt", acceptedAt)
        writer.field("conflate", isConflatable ? nil : false)
        writer.field("onUnknownStart", unknownStartPolicy == .skip ? nil : unknownStartPolicy.rawValue)
        writer.field("restart", forcesRestart ? true : nil)
        writer.field("openedAt", openedAt)
        writer.field("dryRun", isDryRun ? true : nil)
        writer.field("single", isForOneRecipient ? true : nil)
        writer.field("answer", targets == .newMembers ? true : nil)
        if let cursor {
            writer.field("cursor", Hex.text(of: cursor))
            tally.write(to: &writer)
        }
    }

    package init(from record: JSONObject) {
        self.init(
            send: record["send"].name(), key: record.scopeKey(), targets: record["targets"].targets(),
            content: record.content(), priority: record["priority"].pushPriority(),
            generation: record["generation"].version(), version: record["version"].version(),
            timestamp: record["timestamp"].optional?.seconds(), deadline: record["deadline"].seconds(),
            expiration: record["expiration"].seconds(),
            acceptedAt: record["acceptedAt"].timeMilliseconds())
        collapseID = record["collapseId"].optional?.name()
        precedingUpdates = record["ordinal"].optional?.int(in: 0...Int.max) ?? 0
        isConflatable = record["conflate"].optional?.bool() ?? true
        unknownStartPolicy =
            record["onUnknownStart"].optional?.choice(of: Send.UnknownStartPolicy.self) ?? .skip
        forcesRestart = record["restart"].optional?.bool() ?? false
        openedAt = record["openedAt"].optional?.timeMilliseconds()
        // The version before named the sequence of a start only if the start could open generations of recipients.
        sequence = (record["sequence"].optional ?? record["reopens"].optional)?.version() ?? version
        isDryRun = record["dryRun"].optional?.bool() ?? false
        isForOneRecipient = record["single"].optional?.bool() ?? false
        if record["answer"].optional?.bool() ?? false { targets = .newMembers }
        if let cursor = record["cursor"].optional {
            self.cursor = cursor.hex()
            tally = LaneTally(from: record)
        }
    }
}

/// The results of an expansion in one lane. A send's totals are their sum.
package struct LaneTally: Sendable, Hashable {
    /// The number of tokens that the send addresses.
    package var targeted = 0
    /// The number of tokens that became jobs.
    package var expanded = 0
    /// The number of jobs by the phone's major system version. 0 means that the phone did not report it.
    package private(set) var jobsBySystem: [UInt8: Int] = [:]
    /// The number of tokens that did not become jobs, because a newer send replaced this one.
    package var dropped = 0
    /// The number of excluded recipients by reason.
    package var excludedByReason: [String: Int] = [:]
    /// For a dry run: the number of jobs that a real send would write, by environment.
    package var jobsByEnvironment: [String: Int] = [:]
    /// For a dry run: the size of the largest body in bytes.
    package var largestBodyBytes = 0
    /// Whether an END ended the walk of a start before it had visited all recipients. Their number is not known.
    package var hasEndedEarly = false

    private static let reasonsMax = 100
    /// The maximum number of distinct system versions. Phones may report anything, so further versions count
    /// as unreported.
    private static let systemsMax = 32

    package init() {}

    /// Whether the lane had no recipient for the send.
    package var isEmpty: Bool { targeted == 0 && excludedByReason.isEmpty && !hasEndedEarly }

    /// Counts a token that became a job.
    package mutating func countJob(on system: OSVersion?) {
        expanded += 1
        let number = system?.major ?? OSVersion.unreportedMajor
        let isKnown = jobsBySystem[number] != nil || jobsBySystem.count < Self.systemsMax
        jobsBySystem[isKnown ? number : OSVersion.unreportedMajor, default: 0] += 1
    }

    func write(to writer: inout JSONWriter) {
        writer.field("targeted", targeted)
        writer.field("expanded", expanded)
        writer.field("dropped", dropped == 0 ? nil : dropped)
        Self.write("excluded", by: "reason", counts: excludedByReason, to: &writer)
        Self.write("environments", by: "environment", counts: jobsByEnvironment, to: &writer)
        let named = Dictionary(uniqueKeysWithValues: jobsBySystem.map { (String($0.key), $0.value) })
        Self.write("systems", by: "system", counts: named, to: &writer)
        writer.field("bodyBytes", largestBodyBytes == 0 ? nil : largestBodyBytes)
        writer.field("endedEarly", hasEndedEarly ? true : nil)
    }

    private static func write(
        _ name: StaticString, by label: StaticString, counts: [String: Int], to writer: inout JSONWriter
    ) {
        if counts.isEmpty { return }
        writer.name(name)
        writer.beginArray()
        for (kind, count) in counts.sorted(by: { $0.key < $1.key }) {
            writer.beginObject()
            writer.field(label, kind)
            writer.field("count", count)
            writer.endObject()
        }
        writer.endArray()
    }

    init(from record: JSONObject) {
        targeted = record["targeted"].int(in: 0...Int.max)
        expanded = record["expanded"].int(in: 0...Int.max)
        dropped = record["dropped"].optional?.int(in: 0...Int.max) ?? 0
        excludedByReason = Self.counts(in: record["excluded"], by: "reason")
        jobsByEnvironment = Self.counts(in: record["environments"], by: "environment")
        for (name, count) in Self.counts(in: record["systems"], by: "system") {
            jobsBySystem[UInt8(name) ?? OSVersion.unreportedMajor, default: 0] += count
        }
        largestBodyBytes = record["bodyBytes"].optional?.int(in: 0...Int.max) ?? 0
        hasEndedEarly = record["endedEarly"].optional?.bool() ?? false
    }

    private static func counts(in value: JSONValue, by label: StaticString) -> [String: Int] {
        var counts: [String: Int] = [:]
        guard var elements = value.optional?.array(countMax: reasonsMax) else { return counts }
        while let element = elements.next() {
            let object = element.object()
            counts[object[label].name()] = object["count"].int(in: 0...Int.max)
        }
        return counts
    }
}
