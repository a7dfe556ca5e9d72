import Testing

@testable import APNsSimulator

/// The comparison of JSON values, and pointers into them (RFC 6901).
struct ComparedJSONTests {
    @Test(arguments: [
        ("1", "1.0", true), ("1", "1e0", true), ("9007199254740993", "9007199254740992", false),
        (#"{"a":1,"b":[1,2]}"#, #"{ "b" : [1, 2.0], "a" : 1 }"#, true), ("[1,2]", "[2,1]", false),
        (#"{"a":null}"#, "{}", false), (#""1""#, "1", false), ("true", "1", false), ("null", "null", true),
        (#""\u00fc""#, #""ü""#, true), ("0", "-0.0", true),
    ])
    func `values are compared by value`(one: String, other: String, areEqual: Bool) {
        #expect((ComparedJSON(raw(one)) == ComparedJSON(raw(other))) == areEqual)
    }

    @Test(arguments: [
        ("", #"{"a":{"b/c":[1,{"~":2}]},"":3}"#), ("/a/b~1c/0", "1"), ("/a/b~1c/1/~0", "2"), ("/", "3"),
        ("/a/b~1c/2", nil), ("/a/b~1c/00", nil), ("/a/b~1c/-1", nil), ("/b", nil), ("/a/b~1c/0/x", nil),
    ])
    func `a pointer finds the value that RFC 6901 defines`(pointer: String, found: String?) throws {
        let value = try #require(ComparedJSON(raw(#"{"a":{"b/c":[1,{"~":2}]},"":3}"#)))
        let pointer = try #require(JSONPointer(parsing: pointer))
        #expect(value[pointer] == found.flatMap { ComparedJSON(raw($0)) })
    }

    @Test(arguments: ["a", "/~", "/~2", "a/b"])
    func `an invalid pointer is rejected`(text: String) {
        #expect(JSONPointer(parsing: text) == nil)
    }
}
