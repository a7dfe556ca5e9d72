import Foundation
import Identifiers
import InstallationRecords
import ProcessTesting
import RecordFormat
import Sends
import Simulation
import Store
import Telemetry
import Testing

@testable import Registry

/// Tests of walks through a lane, page by page, while rows change and processes end. A walk must return each row once
/// that exists all the time.
struct LanePageTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }
    private let selection = TokenSelection(
        app: "one", tokens: .updates(group: "g"), environments: [.production], now: start)

    private func key(_ number: Int) -> RegistryKey {
        RegistryKey(
            app: "one", recipient: .user("user-\(number)"), installation: "i-\(number)",
            entry: .update(activity: "x"))
    }

    /// Commits a row for each number.
    private func fill(_ lane: Lane, numbers: Range<Int>) throws {
        for number in numbers {
            try lane.apply(token(number, group: "g").encoded(), to: key(number), offset: Int64(number))
        }
        try lane.commit(Int64(numbers.upperBound))
    }

    @Test func `a row that stays is returned once, whatever is written between pages`() throws {
        for seed in 1...UInt64(trialCount(base: 5)) {
            let directory = try TemporaryDirectory()
            let lane = try openLane(directory.path)
            var random = SeededGenerator(seed: seed)
            try fill(lane, numbers: 0..<300)
            var offset: Int64 = 300
            let cursor = PageCursor(startingAt: UInt16.random(in: 0 ... .max, using: &random))
            let rows = try lane.all(selection, from: cursor, rowsMax: 1 + random.number(below: 20)) {
                // Even rows stay and change, odd rows go, and others come.
                let number = random.number(below: 300)
                if number % 2 == 0 {
                    try lane.apply(
                        token(number, group: "g", registeredAt: start + offset).encoded(), to: key(number),
                        offset: offset)
                } else {
                    try lane.apply(nil, to: key(number), offset: offset)
                    try lane.apply(
                        token(1000 + number, group: "g").encoded(),
                        to: key(1000 + number), offset: offset)
                }
                offset += 1
                try lane.commit(offset)
            }
            let names = rows.map(\.recipient)
            #expect(Set(names).count == names.count, "seed \(seed)")
            for number in stride(from: 0, to: 300, by: 2) {
                #expect(names.contains("u:user-\(number)"), "seed \(seed)")
            }
            try lane.close()
        }
    }

    @Test
    func `a large group is returned completely while its tokens change, go and move`()
        throws
    {
        let count = trialCount(base: 10_000)
        let seed = UInt64.random(in: 0...999_999)
        var random = SeededGenerator(seed: seed)
        var lane = try openLane(directory.path, mapBytesAtStart: 64 << 20)
        let restore = LaneRestore(lane: lane)
        for number in 0..<count {
            let (key, row) = (key(number), token(number, group: "g"))
            try restore.add(key: key.bytes.span, value: row.encoded().span, offset: Int64(number))
        }
        try restore.finish(AppliedProgress(offset: Int64(count), completeUntil: .now()))
        var offset = Int64(count)
        /// Returns a change of a user's token. Only the tokens of every fifth user stay in the group.
        func change(_ number: Int) -> (key: RegistryKey, value: [UInt8]?) {
            var newer = token(number, group: "g", registeredAt: start + offset)
            switch number % 5 {
            // The token is reported again.
            case 0: return (key(number), newer.encoded())
            // The token goes.
            case 1: return (key(number), nil)
            // It moves to another group.
            case 2:
                newer.group = "other"
                return (key(number), newer.encoded())
            // It moves to another user.
            case 3: return (key(2 * count + number), newer.encoded())
            // A new user comes.
            default: return (key(count + number), token(2 * count + number, group: "g").encoded())
            }
        }
        var timesReturned = Array(repeating: 0, count: 3 * count)
        var page = TokenPage()
        var next: PageCursor? = PageCursor(startingAt: UInt16.random(in: 0 ... .max, using: &random))
        var pages = 0
        while let cursor = next {
            next = try lane.fillPage(with: selection, from: PageCursor(bytes: cursor.bytes)!, into: &page)
            for index in 0..<page.count {
                let digits = Array(page[index].recipient).dropFirst("u:user-".count)
                timesReturned[Int(String(decoding: digits, as: UTF8.self))!] += 1
            }
            var last = change(0)
            for _ in 0..<50 {
                last = change(random.number(below: count))
                try lane.apply(last.value, to: last.key, offset: offset)
                offset += 1
            }
            try lane.commit(offset)
            pages += 1
            guard pages % 100 == 5 else { continue }
            // The next page may come from another process, which reads the last record again.
            try lane.close()
            lane = try openLane(directory.path, mapBytesAtStart: 64 << 20)
            #expect(lane.resumeOffset == offset - 1)
            try lane.apply(last.value, to: last.key, offset: offset - 1)
        }
        #expect(timesReturned.allSatisfy { $0 <= 1 }, "seed \(seed): a token twice")
        for number in stride(from: 0, to: count, by: 5) where timesReturned[number] != 1 {
            Issue.record("seed \(seed): token \(number) was not met")
        }
        try lane.close()
    }

    @Test func `a walk has one order and starts at its cursor`() throws {
        let lane = try openLane(directory.path)
        try fill(lane, numbers: 0..<200)
        let fromBeginning = try lane.all(selection, rowsMax: 7).map(\.recipient)
        #expect(fromBeginning.count == 200)
        var firsts: Set<String> = []
        for start in stride(from: UInt16(0), through: 60_000, by: 10_000) {
            let rotated = try lane.all(selection, from: PageCursor(startingAt: start), rowsMax: 13)
                .map(\.recipient)
            let split = fromBeginning.firstIndex(of: rotated[0])!
            #expect(rotated == Array(fromBeginning[split...] + fromBeginning[..<split]))
            firsts.insert(rotated[0])
        }
        #expect(firsts.count > 4, "the starts are spread over the recipients")
        try lane.close()
    }

    @Test func `a page ends before its bound, and the next page begins there`() throws {
        let lane = try openLane(directory.path)
        try fill(lane, numbers: 0..<200)
        let recipients = try lane.all(selection).map(\.recipient)
        var random = SeededGenerator(seed: 5)
        var page = TokenPage()
        for _ in 0..<trialCount(base: 50) {
            let start = PageCursor(startingAt: UInt16.random(in: 0 ... .max, using: &random))
            var (found, next): ([String], PageCursor?) = ([], start)
            while let cursor = next {
                let bound = random.bytes(count: 2...2)
                let range = cursor.range
                let isAhead =
                    range.lower.lexicographicallyPrecedes(bound)
                    && range.upper.map { bound.lexicographicallyPrecedes($0) } ?? true
                next = try lane.fillPage(
                    with: selection, from: PageCursor(bytes: cursor.bytes)!, upTo: isAhead ? bound : nil,
                    into: &page, rowsMax: 1 + random.number(below: 30))
                if isAhead, let end = cursor.pageEnd(before: next) {
                    #expect(!bound.lexicographicallyPrecedes(end), "the page ends at its bound or before")
                }
                for index in 0..<page.count { found.append(FoundRow(page[index]).recipient) }
            }
            #expect(found.count == recipients.count && Set(found) == Set(recipients))
        }
        try lane.close()
    }

    @Test func `a selection with few matches gives empty pages that continue`() throws {
        let lane = try openLane(directory.path, mapBytesAtStart: 64 << 20)
        let count = Lane.examinedRowsMax + 10
        try fill(lane, numbers: 0..<count)
        var none = selection
        none.program = .anyTag(of: ["nobody"])
        var page = TokenPage()
        let next = try lane.fillPage(with: none, from: PageCursor(), into: &page)
        #expect(next != nil && page.isEmpty)
        #expect(try lane.fillPage(with: none, from: next!, into: &page) == nil)
        try lane.close()
    }

    @Test func `foreign bytes are rejected or are a valid cursor, and a walk may begin at any key`() throws {
        var random = SeededGenerator(seed: 9)
        var (taken, refused) = (0, 0)
        func tableCursor() -> PageCursor {
            let keys = [random.bytes(count: 0...300), random.bytes(count: 1...300)].sorted {
                $0.lexicographicallyPrecedes($1)
            }
            let (lower, upper) = (keys[0], keys[1])
            let isWrapped = random.number(below: 2) == 1 && lower != upper
            // A walk that has wrapped is before its origin. Any other is at its origin or behind it.
            return isWrapped
                ? PageCursor(.table(origin: upper, next: lower, isWrapped: true))
                : PageCursor(.table(origin: lower, next: upper, isWrapped: false))
        }
        func activityCursor() -> PageCursor {
            PageCursor(
                .activity(
                    index: random.number(below: Audience.namesMax), next: random.bytes(count: 0...300)))
        }
        for _ in 0..<trialCount(base: 2000) {
            let cursor = random.number(below: 2) == 0 ? tableCursor() : activityCursor()
            let bytes = cursor.bytes
            #expect(PageCursor(bytes: bytes) == cursor)
            // Each of these cases is tested every time.
            var other = bytes
            other[0] = 2 + UInt8(random.number(below: 254))
            #expect(PageCursor(bytes: other) == nil, "of another version")
            other = bytes
            other[1] = 2 + UInt8(random.number(below: 254))
            #expect(PageCursor(bytes: other) == nil, "an unknown flag")
            let headByteCount = bytes.count - cursor.origin.count - cursor.next.count
            #expect(
                PageCursor(bytes: Array(bytes.prefix(random.number(below: headByteCount)))) == nil,
                "an incomplete head")
            if !cursor.origin.isEmpty {
                let cut = headByteCount + random.number(below: cursor.origin.count)
                #expect(PageCursor(bytes: Array(bytes.prefix(cut))) == nil, "a part of its origin")
                other = bytes
                other[1] = 1 - bytes[1]
                #expect(PageCursor(bytes: other) == nil, "its position is on the wrong side of its origin")
            }
            // Other bytes are rejected, or give a valid cursor.
            other = bytes
            for _ in 0...random.number(below: 3) {
                other[random.number(below: min(8, other.count))] = random.bytes(count: 1...1)[0]
            }
            guard let read = PageCursor(bytes: other) else {
                refused += 1
                continue
            }
            taken += 1
            #expect(PageCursor(bytes: read.bytes) == read)
        }
        #expect(taken > 0 && refused > 0)
        let lane = try openLane(directory.path)
        try fill(lane, numbers: 0..<20)
        // A position that no row ever had is as good as any other.
        for _ in 0..<trialCount(base: 200) {
            let rows = try lane.all(selection, from: tableCursor()).map(\.recipient)
            #expect(Set(rows).count == rows.count)
        }
        try lane.close()
    }

    @Test func `an audience of ten thousand names is walked page by page, from any name on`() throws {
        let lane = try openLane(directory.path, mapBytesAtStart: 64 << 20)
        let count = 300
        try fill(lane, numbers: 0..<count)
        func name(_ number: Int) -> String { String(format: "activity-%05d", number) }
        // Each user has one of the named activities, and one user has several.
        var wanted: Set<String> = []
        for number in 0..<Audience.namesMax where number % 50 == 0 || number % 128 == 127 {
            let user = number % 128 == 127 ? "many" : "user-\(number)"
            let key = RegistryKey(
                app: "one", recipient: .user(user), installation: "i", entry: .update(activity: name(number)))
            try lane.apply(token(1000 + number, group: "h").encoded(), to: key, offset: Int64(count + number))
            wanted.insert("u:\(user) update:\(name(number))")
        }
        try lane.commit(20_000)
        var asked = selection
        asked.tokens = .activities((0..<Audience.namesMax).map(name))
        let rows = try lane.all(asked, rowsMax: 7).map { "\($0.recipient) \($0.entry)" }
        #expect(rows.count == wanted.count && Set(rows) == wanted)
        asked.recipients = NamedRecipients([.user("many")])
        #expect(try lane.all(asked, rowsMax: 3).count == wanted.filter { $0.hasPrefix("u:many ") }.count)
        // Users, of which the lane has some.
        var users = selection
        users.recipients = NamedRecipients(
            (0..<Audience.namesMax).map { .user("user-\($0 * 3)") } + [.user("user-3")])
        let members = try lane.all(users, from: PageCursor(startingAt: 40_000), rowsMax: 7).map(\.recipient)
        #expect(members.count == count / 3)
        #expect(Set(members) == Set((0..<count / 3).map { "u:user-\($0 * 3)" }))
        try lane.close()
    }

    @Test func `a page of named activities is bounded like any other`() throws {
        let lane = try openLane(directory.path, mapBytesAtStart: 64 << 20)
        // One activity that many installations report.
        let count = Lane.examinedRowsMax + 100
        for number in 0..<count {
            var row = token(number, group: "g")
            // Every second row is not served.
            if number % 2 == 0 { row.activitiesEnabled = false }
            try lane.apply(row.encoded(), to: key(number), offset: Int64(number))
        }
        try lane.commit(Int64(count))
        var named = selection
        named.tokens = .activities(["none", "x", "other"])
        var page = TokenPage()
        var next: PageCursor? = PageCursor(startingAt: 30_000)
        var (recipients, excludedCount) = (Set<String>(), 0)
        while let cursor = next {
            next = try lane.fillPage(
                with: named, from: PageCursor(bytes: cursor.bytes)!, into: &page, rowsMax: 500)
            #expect(page.count <= 500)
            for index in 0..<page.count { recipients.insert(FoundRow(page[index]).recipient) }
            excludedCount += page.exclusions[.activitiesOff]
        }
        #expect(recipients.count == count / 2 && excludedCount == count - count / 2)
        // A page that may have all rows ends when it has examined enough of them.
        let nextPageStart = try lane.fillPage(with: named, from: PageCursor(), into: &page, rowsMax: count)
        #expect(nextPageStart != nil && page.count + page.exclusions.total <= Lane.examinedRowsMax)
        try lane.close()
    }

    @Test func `every group with an activity is found once, in pages of any size`() throws {
        let lane = try openLane(directory.path)
        let long = String(repeating: "long ", count: 30)
        var expected: Set<String> = []
        var offset: Int64 = 0
        for app in ["one", "two"] {
            let groups = [
                "a", "ab", "b", UUID().uuidString, UUID().uuidString.lowercased(), long, "\u{10FFFF}",
            ]
            for (index, group) in groups.enumerated() {
                expected.insert("\(app) \(group)")
                for number in 0..<3 {
                    var key = key(number)
                    key.app = app
                    key.entry = .update(activity: "\(index) \(number)")
                    try lane.apply(token(number, group: group).encoded(), to: key, offset: offset)
                    offset += 1
                }
            }
            var alone = key(7)
            alone.app = app
            try lane.apply(token(7, group: nil).encoded(), to: alone, offset: offset)
            offset += 1
        }
        try lane.commit(offset)
        for countMax in 1...7 {
            var cursor = Lane.GroupCursor()
            var found: [String] = []
            while true {
                let page = try lane.groups(behind: &cursor, countMax: countMax)
                if page.isEmpty { break }
                #expect(page.count <= countMax)
                found += page.map { "\($0.app) \($0.group)" }
            }
            #expect(Set(found) == expected && found.count == expected.count, "pages of \(countMax)")
        }
        try lane.close()
    }
}
