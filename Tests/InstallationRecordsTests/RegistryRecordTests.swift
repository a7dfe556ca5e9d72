import Identifiers
import InstallationRecords
import JSON
import RecordFormat
import Testing

/// The keys and rows of the registry.
@Suite struct RegistryRecordTests {
    static let keys: [(RegistryKey, String)] = [
        (
            RegistryKey(
                app: "shop", recipient: .user("a/b"), installation: "i%1",
                entry: .start(type: "Match")), "shop/u:a%2fb/i%251/start:Match"
        ),
        (
            RegistryKey(
                app: "shop", recipient: .installation("i"), installation: "i", entry: .start(type: nil)),
            "shop/i:i/i/start:"
        ),
        (
            RegistryKey(app: "shop", recipient: .user("u"), installation: "i", entry: .update(activity: "A")),
            "shop/u:u/i/update:A"
        ),
        (
            RegistryKey(app: "shop", recipient: .user("u"), installation: nil, entry: .profile),
            "shop/u:u//profile"
        ),
    ]

    @Test(arguments: keys) func `a registry key reads back as it was written`(
        _ key: RegistryKey, _ text: String
    ) {
        #expect(String(decoding: key.bytes, as: UTF8.self) == text)
        key.bytes.withUnsafeBytes { #expect(RegistryKey(bytes: $0) == key) }
    }

    @Test(arguments: [
        "", "shop", "shop/u:u//start:", "shop/x:u/i/profile", "shop/u:u/i/update:", "a/b/c/d/e",
    ])
    func `text that is not a registry key is refused`(_ text: String) {
        Array(text.utf8).withUnsafeBytes { #expect(RegistryKey(bytes: $0) == nil) }
    }

    @Test func `the rows of the registry have this format`() throws {
        var row = TokenRow(
            environment: .sandbox, token: "ab", tokenHash: "cd", attributesType: "Match", registeredAt: 5)
        row.group = "match-42"
        row.movedAt = 7
        row.movedTo = .user("u")
        let text =
            #"{"v":1,"environment":"sandbox","token":"ab","tokenHash":"cd","attributesType":"Match","group":"match-42","registeredAt":5,"movedAt":7,"movedTo":"u:u"}"#
        #expect(String(decoding: row.encoded(), as: UTF8.self) == text)
        #expect(try TokenRow.decode(row.encoded(), with: JSONReader()) == row)

        var profile = ProfileRow(tags: ["vip"], updatedAt: 9)
        profile.locale = "de"
        #expect(
            String(decoding: profile.encoded(), as: UTF8.self)
                == #"{"v":1,"tags":["vip"],"locale":"de","updatedAt":9}"#)
        #expect(try ProfileRow.decode(profile.encoded(), with: JSONReader()) == profile)
    }
}
