import CatalogRecords
import Foundation
import Identifiers
import InstallationRecords
import JSON
import ProcessTesting
import RecordFormat
import Simulation
import Store
import Telemetry
import Testing

@testable import Registry

/// Tests of segments, the rules that select recipients by their profiles: the profiles that a segment selects, and the
/// texts that are refused.
struct SegmentTests {
    private let reader = JSONReader()

    private func rule(_ text: String) throws -> SegmentRule {
        try reader.read(Array(text.utf8)) { $0.segmentRule() }
    }

    /// Returns the stored form of a profile.
    private func profile(tags: [String]?, attributes: String = "{}", os: String? = nil) throws -> [UInt8] {
        var row = ProfileRow(tags: tags, updatedAt: 0)
        row.attributes = try RawJSON(checking: Array(attributes.utf8), with: reader)
        row.os = os
        row.appBuild = "10.2 (77)"
        row.locale = "tr_TR"
        var value: [UInt8] = []
        try ProfileValue.append(row.encoded().span, to: &value, with: JSONReader())
        return value
    }

    /// Whether a rule selects an installation with these profiles.
    private func matches(_ text: String, installation: [UInt8], user: [UInt8] = [], os: OSVersion? = nil)
        throws
        -> Bool
    {
        SegmentProgram(try rule(text)).matches(user: user.span, installation: installation.span, os: os)
    }

    @Test(arguments: [
        (#"{"tag":"vip"}"#, true), (#"{"tag":"nobody"}"#, false), (#"{"not":{"tag":"nobody"}}"#, true),
        (#"{"and":[{"tag":"vip"},{"tag":"nobody"}]}"#, false),
        (#"{"or":[{"tag":"nobody"},{"tag":"vip"}]}"#, true),
        (#"{"attribute":"team","equals":"GS"}"#, true), (#"{"attribute":"team","equals":1905}"#, false),
        (#"{"attribute":"team","in":["FB","GS"]}"#, true), (#"{"attribute":"team","in":[]}"#, false),
        (#"{"attribute":"age","equals":30}"#, true), (#"{"attribute":"age","equals":30.0}"#, true),
        (#"{"attribute":"age","equals":"30"}"#, false), (#"{"attribute":"age","above":29.5}"#, true),
        (#"{"attribute":"age","below":30}"#, false), (#"{"attribute":"age","atMost":30}"#, true),
        (#"{"attribute":"age","atLeast":"30"}"#, false), (#"{"attribute":"ratio","above":1}"#, true),
        (#"{"attribute":"ratio","atMost":1}"#, false), (#"{"attribute":"paid","equals":true}"#, true),
        (#"{"attribute":"paid","equals":false}"#, false), (#"{"attribute":"paid","above":0}"#, false),
        (#"{"attribute":"since","below":"2026-01-01"}"#, true),
        (#"{"attribute":"none","exists":true}"#, false),
        (#"{"attribute":"none","exists":false}"#, true), (#"{"attribute":"null","exists":true}"#, false),
        (#"{"attribute":"list","exists":true}"#, true), (#"{"attribute":"list","equals":"x"}"#, false),
        (#"{"attribute":"big","equals":9007199254740993}"#, true),
        (#"{"attribute":"big","equals":9007199254740992}"#, false),
        (#"{"attribute":"big","above":9007199254740992.0}"#, true),
        (#"{"field":"os","atLeast":"17.9"}"#, true), (#"{"field":"os","equals":"17.10.0"}"#, true),
        (#"{"field":"os","below":"17.10.1"}"#, true), (#"{"field":"appBuild","above":"9"}"#, true),
        (#"{"field":"locale","in":["tr","tr_TR"]}"#, true), (#"{"field":"timeZone","exists":true}"#, false),
    ])
    func `a rule selects the profiles that it describes`(_ text: String, _ expected: Bool) throws {
        let value = try profile(
            tags: ["fan", "vip"],
            attributes:
                #"{"team":"GS","age":30,"ratio":1.5,"paid":true,"since":"2025-05-01","null":null,"list":["x"],"big":9007199254740993}"#,
            os: "iOS 17.10")
        #expect(try matches(text, installation: value) == expected)
        // The rule is the same after encoding and decoding.
        let segment = Segment(app: "one", name: "s", rule: try rule(text))
        #expect(try Segment.decode(segment.encoded(), with: reader) == segment)
    }

    @Test func `the examples of the operator's book are rules`() throws {
        let book = try Repository.text(of: "deploy/book/segments.md")
        let block = book.components(separatedBy: "<!-- segments -->")[1].components(separatedBy: "```")[1]
        let examples = block.split(separator: "\n").dropFirst()
        #expect(examples.count > 3)
        for example in examples { #expect(throws: Never.self, "\(example)") { try rule(String(example)) } }
    }

    @Test func `the attributes and tags that the backend has set win over those of the phone`() throws {
        let user = try profile(tags: ["member"], attributes: #"{"team":"FB","city":"Izmir"}"#, os: "16.0")
        let installation = try profile(tags: ["fan"], attributes: #"{"team":"GS"}"#)
        #expect(try matches(#"{"attribute":"team","equals":"FB"}"#, installation: installation, user: user))
        #expect(
            try matches(#"{"attribute":"city","equals":"Izmir"}"#, installation: installation, user: user))
        #expect(try matches(#"{"tag":"member"}"#, installation: installation, user: user))
        #expect(try !matches(#"{"tag":"fan"}"#, installation: installation, user: user))
        // Tags and attributes that the backend has not set are those of the phone.
        let attributesOnly = try profile(tags: nil, attributes: #"{"city":"Izmir"}"#)
        #expect(try matches(#"{"tag":"fan"}"#, installation: installation, user: attributesOnly))
        #expect(
            try matches(
                #"{"attribute":"team","equals":"GS"}"#, installation: installation, user: attributesOnly))
        // An empty list of the backend is a value too.
        let noTags = try profile(tags: [])
        #expect(try !matches(#"{"tag":"fan"}"#, installation: installation, user: noTags))
        // The fields are facts about the phone.
        #expect(try matches(#"{"field":"os","equals":"16"}"#, installation: installation, user: user))
        #expect(try matches(#"{"field":"os","equals":"18.1"}"#, installation: [], os: OSVersion(18, 1)))
        #expect(try !matches(#"{"field":"os","atLeast":"1"}"#, installation: []))
    }

    @Test func `all problems are reported at once, with their positions`() throws {
        let text = #"""
            {"and":[{"tag":5},{"attribute":"a"},{"attribute":"a","above":true},{"field":"os","equals":"new"},
            {"field":"colour","equals":"x"},{"tag":"a","extra":1},{"or":[]},{"attribute":"a","in":[null]},7]}
            """#
        let error = #expect(throws: JSONError.self) { try rule(text) }
        let paths = Set(error?.problems.map(\.path) ?? [])
        for path in [
            "and[0].tag", "and[1]", "and[2].above", "and[3].equals", "and[4].field", "and[5].extra",
            "and[6].or",
            "and[7].in[0]", "and[8]",
        ] {
            #expect(paths.contains { $0.hasPrefix(path) }, "\(path) of \(paths)")
        }
    }

    @Test func `a rule has a limit of predicates and levels`() throws {
        func nestedRule(depth: Int) -> String {
            String(repeating: #"{"not":"#, count: depth - 1) + #"{"tag":"a"}"#
                + String(repeating: "}", count: depth - 1)
        }
        func wideRule(predicateCount count: Int) -> String {
            #"{"or":["# + Array(repeating: #"{"tag":"a"}"#, count: count - 1).joined(separator: ",") + "]}"
        }
        #expect(throws: Never.self) { try rule(nestedRule(depth: SegmentRule.depthMax)) }
        #expect(throws: JSONError.self) { try rule(nestedRule(depth: SegmentRule.depthMax + 1)) }
        #expect(throws: Never.self) { try rule(wideRule(predicateCount: SegmentRule.predicatesMax)) }
        #expect(throws: JSONError.self) { try rule(wideRule(predicateCount: SegmentRule.predicatesMax + 1)) }
        let long = String(repeating: "a", count: SegmentRule.textBytesMax + 1)
        #expect(throws: JSONError.self) { try rule(#"{"attribute":"a","equals":"\#(long)"}"#) }
    }

    @Test func `random and damaged rules are read or rejected, and every rule that was read can be tested`()
        throws
    {
        let samples = [
            #"{"and":[{"tag":"vip"},{"not":{"attribute":"age","atLeast":18}}]}"#,
            #"{"or":[{"field":"os","below":"17.4"},{"attribute":"team","in":["GS",1,2.5,true]}]}"#,
        ]
        let value = try profile(
            tags: ["vip"], attributes: #"{"age":1e300,"team":"GS"}"#, os: "99999999999999999999999")
        var random = SeededGenerator(seed: 4)
        for _ in 0..<trialCount(base: 3000) {
            var bytes = Array(samples[random.number(below: samples.count)].utf8)
            for _ in 0...random.number(below: 4) {
                let position = random.number(below: bytes.count)
                switch random.number(below: 3) {
                case 0: bytes[position] = UInt8.random(in: .min ... .max, using: &random)
                case 1: bytes.remove(at: position)
                default:
                    bytes.insert(
                        contentsOf: bytes[position...].prefix(random.number(below: 30)), at: position)
                }
                if bytes.isEmpty { bytes = [0x7B] }
            }
            guard let rule = try? reader.read(bytes, decode: { $0.segmentRule() }) else { continue }
            _ = SegmentProgram(rule).matches(user: value.span, installation: value.span, os: nil)
        }
    }

    @Test func `a row that the tags do not select is left out for no other reason`() throws {
        let directory = try TemporaryDirectory()
        let lane = try openLane(directory.path)
        var moved = token(1)
        (moved.movedAt, moved.movedTo) = (1, .user("ben"))
        var off = token(2)
        off.activitiesEnabled = false
        for (number, row) in [moved, off].enumerated() {
            let key = RegistryKey(
                app: "one", recipient: .user("ann"), installation: "i-\(number)", entry: .start(type: "Match")
            )
            try lane.apply(row.encoded(), to: key, offset: 0)
        }
        try lane.commit(1)
        var selection = TokenSelection(
            app: "one", tokens: .starts(type: "Match"), environments: [.production], now: start)
        selection.program = .anyTag(of: ["nobody"])
        var exclusions = ExclusionCounts()
        #expect(try lane.all(selection, leavingOut: &exclusions).isEmpty)
        #expect(exclusions[.notSelected] == 2 && exclusions.total == 2)
        try lane.close()
    }

    @Test func `a page of a segment equals a test of each row's profiles`() throws {
        for seed in 1...UInt64(trialCount(base: 10)) {
            var random = SeededGenerator(seed: seed)
            let directory = try TemporaryDirectory()
            let lane = try openLane(directory.path)
            var expected: Set<String> = []
            for number in 0..<120 {
                let user = "user-\(number % 40)"
                var key = RegistryKey(
                    app: "one", recipient: .user(user), installation: "i-\(number)",
                    entry: .start(type: "Match"))
                try lane.apply(token(number).encoded(), to: key, offset: 0)
                key.entry = .profile
                let isTagged = random.number(below: 4) == 0
                if random.number(below: 3) > 0 {
                    try lane.apply(
                        ProfileRow(tags: isTagged ? ["vip"] : [], updatedAt: 0).encoded(),
                        to: key, offset: 0)
                    if isTagged { expected.insert("i-\(number)") }
                }
                // The backend's profile of every fifth user.
                if number % 5 == 0, number < 40 {
                    key.installation = nil
                    try lane.apply(ProfileRow(tags: ["vip"], updatedAt: 0).encoded(), to: key, offset: 0)
                }
                // All installations of such a user are selected.
                if number % 40 % 5 == 0 { expected.insert("i-\(number)") }
            }
            try lane.commit(1)
            var selection = TokenSelection(
                app: "one", tokens: .starts(type: "Match"), environments: [.production], now: start)
            selection.program = .anyTag(of: ["vip", "other"])
            let cursor = PageCursor(startingAt: UInt16.random(in: 0 ... .max, using: &random))
            let installations = try lane.all(selection, from: cursor, rowsMax: 1 + random.number(below: 9))
                .map(
                    \.installation)
            #expect(installations.count == expected.count, "seed \(seed)")
            #expect(Set(installations) == expected, "seed \(seed)")
            try lane.close()
        }
    }
}
