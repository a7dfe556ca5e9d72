package import JSON

/// One scope as a lane knows it: a row of `starts`, under the scope's key, written when the lane begins with
/// what a planner has said of the scope. From it a token that comes late gets what the others have.
package struct LaneScope: Record, Hashable {
    package static let schemaVersion = 1
    /// Sends that one row remembers as taken back; the newest.
    package static let cancelledMax = 100

    /// How far the newest send to all of a group has come in the lane; none when it is through.
    package struct Walk: Sendable, Hashable {
        package var version: Int64
        package var cursor: [UInt8]

        package init(version: Int64, cursor: [UInt8]) {
            self.version = version
            self.cursor = cursor
        }
    }

    /// Lists that one row remembers as open; the newest.
    package static let openListsMax = 100

    /// An update to recipients by their names, of whom the lane has not come to all.
    package struct OpenList: Sendable, Hashable {
        package var send: String
        /// Seconds since 1970.
        package var deadline: Int64

        package init(send: String, deadline: Int64) {
            self.send = send
            self.deadline = deadline
        }
    }

    /// The version of the start that opened this life; 0 while none was seen.
    package var generation: Int64 = 0
    /// The newest version that the lane has begun with.
    package var version: Int64 = 0
    /// The newest version of an update or an end: what a start opens with is nothing to activities that are there.
    package var updated: Int64 = 0
    /// The version of the newest end; 0 while there was none.
    package var endedAt: Int64 = 0
    package var newest: ScopeState?
    /// What the newest took the place of, where only lanes know that: it holds again when the newest is taken back.
    package var replaced: ScopeState?
    package var walk: Walk?
    /// Of a whole group: recipients of the lane have rows of their own.
    package var hasRecipients = false
    /// Of a whole group: what recipients of the lane have still to be told by their names, the newest last.
    package var openLists: [OpenList] = []
    /// Of a whole group: the version of the newest end that named one activity, and so came on a way of its own.
    package var urgentEndAt: Int64 = 0
    /// Of a whole group: updates of it may have passed the lane before there was a row.
    package var mayLackUpdates = false
    /// The ledger has starts of this scope.
    package var hasStarts = false
    /// Sends that were taken back, the newest last.
    package var cancelled: [String] = []
    /// Of an activity that came without a group: the one that it joined.
    package var joined: GroupKey?
    /// Milliseconds since 1970 when it was written.
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
