import ContentSchemas
import JSON
import RecordTesting
import Testing

// The JSON form of schemas: how it is read, written and refused.

private func problems(_ text: String) -> [String] {
    do throws(JSONError) {
        _ = try JSONReader().read(Array(text.utf8)) { ContentSchema(from: $0) }
        return []
    } catch {
        return error.problems.map(\.description)
    }
}

private func written(_ schema: ContentSchema) -> String {
    var writer = JSONWriter()
    schema.write(to: &writer)
    return String(decoding: writer.bytes, as: UTF8.self)
}

@Test(arguments: [
    #"{"home":"int","away":"uint8?","kickOff":"date.reference2001","logo":"url","id":"uuid","image":"data"}"#,
    #"{"scorers":["string"],"minutes":["int?"],"table":[[{"name":"string"}]]}"#,
    #"{"odds":{"$dictionary":"double"},"by":{"$dictionary":["int"],"$keys":"int"}}"#,
    #"{"shirts":{"$dictionary":"string","$keys":{"$enum":["home","away"]}}}"#,
    #"{"phase":{"$enum":["first","second"]},"half":{"$optional":{"$enum":[1,2]}}}"#,
    #"{"status":{"$cases":{"eta":{"minutes":"int"},"arrived":{},"pair":{"_0":"int","_1":"string?"}}}}"#,
    #"{"window":{"$range":"date.unixSeconds"},"more":"any"}"#,
    #"{"$object":{"$price":"float","a b":"bool"}}"#,
    #"{"$cases":{"running":{},"done":{"at":"date.iso8601"}}}"#, #"{"$dictionary":"date.unixMilliseconds?"}"#,
    #""any""#, "{}",
])
func `a schema has this format and reads back`(_ text: String) {
    #expect(written(schema(text)) == text)
    #expect(schema(written(schema(text))) == schema(text))
}

@Test func `each schema has one canonical form`() {
    #expect(
        written(schema(#"{"$object":{"a":{"$optional":"int"},"b":{"$keys":"string","$dictionary":"int"}}}"#))
            == #"{"a":"int?","b":{"$dictionary":"int"}}"#)
}

@Test func `all problems of a schema are reported at once`() {
    #expect(
        problems(
            #"{"a":"integer","b":[],"c":{"$map":"int"},"d":{"$enum":["x","x"]},"e":{"$enum":[1,"x"]},"f":{"$range":"bool"},"g":{"$optional":"int?"},"h":{"$keys":"int"},"i":{"$enum":["x"],"k":"int"},"j":7,"k":{"$cases":{"x":1}},"l":{"$dictionary":"int","$keys":["int"]},"m":{"$enum":["x"],"$keys":"int"},"":"int"}"#
        ) == [
            "a must be one of int, int8, int16, int32, int64, uint, uint8, uint16, uint32, uint64, double, float, bool, string, date.reference2001, date.unixSeconds, date.unixMilliseconds, date.iso8601, url, uuid, data, any, followed by ? if it is optional",
            "b must hold one type, the type of all elements",
            #"c["$map"] is not a constructor; use $object, $optional, $enum, $cases, $range, $dictionary"#,
            #"d["$enum"] has a raw value twice"#,
            #"e["$enum"] must have only strings or only 64-bit integers"#,
            #"f["$range"] must be a number, a date or a string"#,
            #"g["$optional"] is optional already"#,
            "h has $keys without $dictionary; give both",
            "i mixes $enum with other names; properties with $ go into $object",
            #"j must be a type: a word like "int", [a type], or an object of types"#,
            #"k["$cases"].x must be an object: the values that the case carries, {} for none"#,
            #"l["$keys"] must be a word or a $enum"#,
            "m has $keys beside $enum; they belong to $dictionary",
            #"[""] has a name that must not be empty"#,
        ])
    #expect(problems(#"["int"]"#) == ["the document must describe an object, because a phone decodes one"])
    #expect(problems(#"{"$dictionary":"int","$keys":"uuid"}"#).count == 1, "an array to Swift")
}

@Test func `a schema is bounded in bytes, depth and types`() {
    func nested(_ depth: Int) -> String {
        #"{"a":"# + String(repeating: "[", count: depth - 2) + "\"int\""
            + String(repeating: "]", count: depth - 2) + "}"
    }
    #expect(problems(nested(ContentSchema.depthMax)).isEmpty)
    #expect(problems(nested(ContentSchema.depthMax + 1)).count == 1)
    func wide(_ count: Int) -> String {
        "{" + (0..<count).map { "\"p\($0)\":\"int\"" }.joined(separator: ",") + "}"
    }
    #expect(problems(wide(ContentSchema.typesMax - 1)).isEmpty)
    #expect(
        problems(wide(ContentSchema.typesMax + 20)) == [
            "p999 exceeds the limit of 1000 types"
        ])
    let names = (0..<2_000).map { "\"case number \($0)\"" }.joined(separator: ",")
    #expect(problems("{\"a\":{\"$enum\":[\(names)]}}") == ["the document must have at most 16384 bytes"])
    let many = (0...ContentSchema.casesMax).map(String.init).joined(separator: ",")
    #expect(problems("{\"a\":{\"$enum\":[\(many)]}}").count == 1)
}
