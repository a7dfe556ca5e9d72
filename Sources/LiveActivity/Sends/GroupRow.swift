package import JSON

/// One scope as its planner knows it: a row of `groups`, the planner's truth.
///
/// A group's own row counts for the whole group and bounds the versions of its recipients; a recipient's row
/// is there only when sends have addressed that recipient alone.
package struct GroupRow: Record, Hashable {
    package static let schemaVersion = 1

    /// A send of the group that was taken back.
    package struct Cancelled: Sendable, Hashable {
        package var send: String
        /// Milliseconds since 1970 of the request's record.
        package var at: Int64

        package init(send: String, at: Int64) {
            self.send = send
            self.at = at
        }
    }

    /// The version of the start that opened this life; 0 while none was seen.
    package var generation: Int64 = 0
    /// Milliseconds since 1970 when that start was accepted: a generation runs ahead of the clock, and has whole seconds.
    package var openedAt: Int64?
    /// The version of the newest end; 0 while there was none.
    package var endedAt: Int64 = 0
    /// Milliseconds since 1970 of that end's record: timed sends from before it are out of date.
    package var endedTime: Int64 = 0
    /// The scope's newest version.
    package var version: Int64 = 0
    /// Of a whole group: what every recipient's next version must exceed.
    package var floor: Int64 = 0
    /// Of a whole group: the highest version that any of its scopes has.
    package var highest: Int64 = 0
    /// Of a whole group: the version of its newest update, whatever came after it; 0 while there was none.
    package var updatedAt: Int64 = 0
    /// Of a whole group: the version of the newest end by activities' names, of which only lanes know whom it has ended;
    /// 0 while there was none.
    package var namedEndAt: Int64 = 0
    /// Of a whole group: the same of one that names one activity. It goes to the lanes on a way of its own.
    package var urgentEndAt: Int64 = 0
    /// Of a recipient, only while its newest word was for that recipient alone.
    package var newest: ScopeState?
    /// What the newest updates took the place of, the newest first: it comes back when they are taken back.
    package var previous: [ScopeState] = []
    /// The type that the life was started with, and how large the largest attributes are that a start of it had: updates
    /// are checked by them.
    package var attributesType: String?
    package var attributesBytes = 0
    /// Updates of this life so far: each begins its walk at another place.
    package var updates = 0
    /// Seconds since 1970.
    package var endDate: Int64?
    /// A send that waits until its version may be given without running ahead of the clock.
    package var held: Send?
    /// Of a whole group: what was said to all of it, what waits among it.
    package var words = 0
    /// Of a recipient: the whole group's words when its send began to wait. One that was said to all since is
    /// newer than that send.
    package var heldAfter = 0
    /// Sends that were taken back lately, the oldest first: every note of the group names them.
    package var cancelled: [Cancelled] = []
    /// Milliseconds since 1970 of its last send's record.
    package var lastAt: Int64 = 0

    package init() {}

    /// States that `previous` has at most, and so updates one behind the other that can be taken back. A group's row
    /// is written with every update.
    package static let previousMax = 3

    /// How long a row counts after its scope's last send.
    package static let keptMilliseconds: Int64 = 3 * 86_400_000

    package func isKept(at stamp: Int64) -> Bool { Self.isKept(lastAt, at: stamp) }

    /// Of one whose last send's record had the stamp `lastAt`.
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
