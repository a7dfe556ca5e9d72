package import JSON

/// A lane's record of one scope: a row of `starts`, under the scope's key. The lane writes it when it begins
/// an expansion for the scope. With it, a late token receives the same state as the others.
package struct LaneScope: Record, Hashable {
    package static let schemaVersion = 1
    /// The maximum number of cancelled sends in one row. The newest are kept.
    package static let cancelledMax = 100

    /// The position of the newest whole-group send in the lane. There is no walk once the send is done.
    package struct Walk: Sendable, Hashable {
        package var version: Int64
        package var cursor: [UInt8]

        package init(version: Int64, cursor: [UInt8]) {
            self.version = version
            self.cursor = cursor
        }
    }

    /// The maximum number of open lists in one row. The newest are kept.
    package static let openListsMax = 100

    /// An update to named recipients that the lane has not fully processed.
    package struct OpenList: Sendable, Hashable {
        package var send: String
        /// Seconds since 1970.
        package var deadline: Int64

        package init(send: String, deadline: Int64) {
            self.send = send
            self.deadline = deadline
        }
    }

    /// The version of the start that opened this generation, or 0 if no start was seen.
    package var generation: Int64 = 0
    /// The newest version that the lane has begun.
    package var version: Int64 = 0
    /// The newest version of an update or an END. A start's own state does not apply to activities that
    /// already run.
    package var updated: Int64 = 0
    /// The version of the newest END, or 0 if there was none.
    package var endedAt: Int64 = 0
    package var newest: ScopeState?
    /// The state that `newest` replaced, if only lanes know it. A cancel of `newest` restores it.
    package var replaced: ScopeState?
    package var walk: Walk?
    /// For a whole group: whether recipients of the lane have separate rows.
    package var hasRecipients = false
    /// For a whole group: updates to named recipients that the lane has not fully processed, newest last.
    package var openLists: [OpenList] = []
    /// For a whole group: the version of the newest END that named one activity. It arrives through
    /// `expansions.urgent`.
    package var urgentEndAt: Int64 = 0
    /// For a whole group: whether updates may have passed the lane before this row existed.
    package var mayLackUpdates = false
    /// Whether the ledger contains starts of this scope.
    package var hasStarts = false
    /// Cancelled sends, newest last.
    package var cancelled: [String] = []
    /// For an activity that was first reported without a group: the group that it joined.
    package var joined: GroupKey?
    /// The time at which the row was written, in milliseconds since 1970.
    package var at: Int64 = 0

    package init() {}

    package func write(to writer: inout JSONWriter) {
        writer.field("generation", generation)
        writer.field("version", version)
        writer.field("updated", updated == version ? nil : updated)
        writer.field("endedAt", endedAt == 0 ? nil : endedAt)
        writer.field("newest", newest)
        writer.field("replaced", replaced)
        if let walk {
            writer.name("walk")
            writer.beginObject()
            writer.field("version", walk.version)
            writer.field("cursor", Hex.text(walk.cursor))
            writer.endObject()
        }
        writer.field("hasRecipients", hasRecipients ? true : nil)
        writer.objects("openLists", unlessEmpty: openLists) { list, writer in
            writer.field("send", list.send)
            writer.field("deadline", list.deadline)
        }
        writer.field("urgentEndAt", urgentEndAt == 0 ? nil : urgentEndAt)
        writer.field("mayLackUpdates", mayLackUpdates ? true : nil)
        writer.field("hasStarts", hasStarts ? true : nil)
        writer.field("cancelled", cancelled.isEmpty ? nil : cancelled)
        if let joined {
            writer.name("joined")
            writer.beginObject()
            writer.field(joined)
            writer.endObject()
        }
        writer.field("at", at)
    }

    package init(from record: JSONObject) {
        generation = record["generation"].version()
        version = record["version"].version()
        updated = record["updated"].optional?.version() ?? version
        endedAt = record["endedAt"].optional?.version() ?? 0
        newest = record["newest"].optional?.scopeState()
        replaced = record["replaced"].optional?.scopeState()
        if let walk = record["walk"].optional?.object() {
            self.walk = Walk(version: walk["version"].version(), cursor: walk["cursor"].hex())
        }
        hasRecipients = record["hasRecipients"].optional?.bool() ?? false
        openLists = record["openLists"].objects(countMax: Self.openListsMax) { list in
            OpenList(send: list["send"].name(), deadline: list["deadline"].seconds())
        }
        urgentEndAt = record["urgentEndAt"].optional?.version() ?? 0
        mayLackUpdates = record["mayLackUpdates"].optional?.bool() ?? false
        hasStarts = record["hasStarts"].optional?.bool() ?? false
        cancelled = record["cancelled"].optional?.names(countMax: Self.cancelledMax) ?? []
        joined = record["joined"].optional?.object().groupKey()
        at = record["at"].time()
    }
}
