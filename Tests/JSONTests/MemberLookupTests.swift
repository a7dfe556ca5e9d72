import JSON
import Testing

/// The lookup of members by name. A bit filter skips the search for missing members and must never skip a present one.
@Suite struct MemberLookupTests {
    /// Names with lengths on both sides of the eight bytes that are compared at once.
    private let names: [StaticString] = [
        "", "v", "os", "app", "kind", "state", "locale", "running", "attempts", "timeZone", "channelId",
        "installationId", "frequentPushesEnabled", "ü", "zwölf", "Größenänderung",
    ]

    private func document(_ names: some Sequence<String>) -> [UInt8] {
        Array("{\(names.map { "\"\($0)\":1" }.joined(separator: ","))}".utf8)
    }

    @Test func `a member of any name length is found by its full name`() throws {
        let reader = JSONReader()
        for name in names {
            try reader.read(document([name.description])) { value in
                let object = value.object()
                for other in names {
                    let isPresent = other.description == name.description
                    #expect(object[other].isMissing == !isPresent, "\(name), \(other)")
                }
            }
        }
    }

    // With many names, all bits of the filter are set.
    @Test(arguments: [0, 20, 40, 400]) func `all members are found among many others`(others: Int) throws {
        let list = names.map(\.description) + (0..<others).map { "other \($0)" }
        try JSONReader().read(document(list)) { value in
            let object = value.object()
            for name in names { #expect(object[name].int() == 1, "\(name)") }
            #expect(object["nothing"].isMissing && object["otherwise"].isMissing)
        }
    }

    @Test func `an escaped name equals its unescaped form`() throws {
        try JSONReader().read(Array(#"{"\u0061pp":1,"t\u0069meZone":2}"#.utf8)) { value in
            #expect(value.object()["app"].int() == 1 && value.object()["timeZone"].int() == 2)
        }
    }
}
