package import JSON

/// The planner's record of one scope: a row of `groups`, which is the planner's source of truth.
///
/// A group's own row counts for the whole group and bounds the versions of its recipients. A recipient has a
/// row only if sends have addressed that recipient alone.
package struct GroupRow: Record, Hashable {
    package static let schemaVersion = 1

    /// A cancelled send of the group.
    package struct Cancelled: Sendable, Hashable {
        package var send: String
        /// The timestamp of the cancel's record, in milliseconds since 1970.
        package var at: Int64

        package init(send: String, at: Int64) {
            self.send = send
            self.at = at
        }
    }

    /// The version of the start that opened this generation, or 0 if no start was seen.
    package var generation: Int64 = 0
    /// The time at which that start was accepted, in milliseconds since 1970. `generation` cannot replace it,
    /// because it has whole seconds and may run ahead of the clock.
    package var openedAt: Int64?
    /// The version of the newest END, or 0 if there was none.
    package var endedAt: Int64 = 0
    /// The timestamp of that END's record, in milliseconds since 1970. Timed sends from before it are
    /// outdated.
    package var endedTime: Int64 = 0
    /// The scope's newest version.
    package var version: Int64 = 0
    /// For a whole group: each recipient's next version must be greater than this.
    package var floor: Int64 = 0
    /// For a whole group: the highest version of any of its scopes.
    package var highest: Int64 = 0
    /// For a whole group: the version of its newest update, also if other sends followed, or 0 if there was none.
    package var updatedAt: Int64 = 0
    /// For a whole group: the version of the newest END by activity names, or 0 if there was none. Only lanes
    /// know the recipients that it ended.
    package var namedEndAt: Int64 = 0
    /// For a whole group: the version of the newest END that names one activity. Lanes receive it through
    /// `expansions.urgent`, so a start may overtake it.
    package var urgentEndAt: Int64 = 0
    /// For a recipient: its newest state, only while that state was for this recipient alone.
    package var newest: ScopeState?
    /// The states that the newest updates replaced, newest first. Cancelling those updates restores them.
    package var previous: [ScopeState] = []
    /// The activity type of the generation's start, and the size of the largest attributes of any of its
    /// starts. Updates are checked against them.
    package var attributesType: String?
    package var attributesBytes = 0
    /// The number of updates in this generation. It decides where each update's walk begins.
    package var updates = 0
    /// Seconds since 1970.
    package var endDate: Int64?
    /// A send that waits until it can get a version that is not ahead of the clock.
    package var held: Send?
    /// For a whole group: the number of sends to the whole group, including held ones.
    package var words = 0
    /// For a recipient: the whole group's `words` when the held send began to wait. If `words` has changed, a
    /// newer send to the whole group exists.
    package var heldAfter = 0
    /// Recently cancelled sends, oldest first. Every `SupersededNote` of the group names them.
    package var cancelled: [Cancelled] = []
    /// The timestamp of its last send's record, in milliseconds since 1970.
    package var lastAt: Int64 = 0

    package init() {}

    /// The maximum number of states in `previous`, and so of consecutive updates that can be cancelled. It is
    /// small, because a group's row is written with every update.
    package static let previousMax = 3

    /// The time for which a row is kept after its scope's last send.
    package static let keptMilliseconds: Int64 = 3 * 86_400_000

    package func isKept(at stamp: Int64) -> Bool { Self.isKept(lastAt, at: stamp) }

    /// Whether a row whose last send's record had the timestamp `lastAt` is kept.
    package static func isKept(_ lastAt: Int64, at stamp: Int64) -> Bool { stamp - lastAt < keptMilliseconds }

    package func write(to writer: inout JSONWriter) {
        writer.field("generation", generation)
        writer.field("openedAt", openedAt)
        writer.field("endedAt", endedAt == 0 ? nil : endedAt)
        writer.field("endedTime", endedTime == 0 ? nil : endedTime)
        writer.field("version", version)
        writer.field("floor", floor == 0 ? nil : floor)
        writer.field("highest", highest == 0 ? nil : highest)
        writer.field("updatedAt", updatedAt == 0 ? nil : updatedAt)
        writer.field("namedEndAt", namedEndAt == 0 ? nil : namedEndAt)
        writer.field("urgentEndAt", urgentEndAt == 0 ? nil : urgentEndAt)
        writer.field("newest", newest)
        writer.field("previous", previous.first)
        writer.objects("earlier", unlessEmpty: Array(previous.dropFirst())) { $1.fields($0) }
        writer.field("attributesType", attributesType)
        writer.field("attributesBytes", attributesBytes == 0 ? nil : attributesBytes)
        writer.field("updates", updates == 0 ? nil : updates)
        writer.field("endDate", endDate)
        if let held { writer.nested("held", held) }
        writer.field("words", words == 0 ? nil : words)
        writer.field("heldAfter", heldAfter == 0 ? nil : heldAfter)
        writer.objects("cancelled", unlessEmpty: cancelled) { one, writer in
            writer.field("send", one.send)
            writer.field("at", one.at)
        }
        writer.field("lastAt", lastAt)
    }

    package init(from record: JSONObject) {
        generation = record["generation"].version()
        openedAt = record["openedAt"].optional?.time()
        endedAt = record["endedAt"].optional?.version() ?? 0
        endedTime = record["endedTime"].optional?.time() ?? 0
        version = record["version"].version()
        floor = record["floor"].optional?.version() ?? 0
        highest = record["highest"].optional?.version() ?? 0
        updatedAt = record["updatedAt"].optional?.version() ?? 0
        namedEndAt = record["namedEndAt"].optional?.version() ?? 0
        urgentEndAt = record["urgentEndAt"].optional?.version() ?? 0
        newest = record["newest"].optional?.scopeState()
        previous = record["previous"].optional.map { [$0.scopeState()] } ?? []
        previous += record["earlier"].objects(countMax: Self.previousMax) { $0.scopeState() }
        attributesType = record["attributesType"].optional?.name()
        attributesBytes = record["attributesBytes"].optional?.int(in: 0...1_000_000) ?? 0
        updates = record["updates"].optional?.int(in: 0...Int.max) ?? 0
        endDate = record["endDate"].optional?.seconds()
        held = record["held"].optional.map { Send(from: $0.object()) }
        words = record["words"].optional?.int(in: 0...Int.max) ?? 0
        heldAfter = record["heldAfter"].optional?.int(in: 0...Int.max) ?? 0
        cancelled = record["cancelled"].cancelled()
        lastAt = record["lastAt"].time()
    }
}

extension JSONValue {
    package func cancelled() -> [GroupRow.Cancelled] {
        objects(countMax: SupersededNote.cancelledMax) { one in
            GroupRow.Cancelled(send: one["send"].name(), at: one["at"].time())
        }
    }
}
