import JSON
import RecordFormat
import RecordTesting
import Testing

// The versions and the unknown fields of records in JSON.

private struct Note: JSONRecord, Equatable {
    static let schemaVersion = 2
    var text: String

    func write(to writer: inout JSONWriter) { writer.field("text", text) }
}

extension Note {
    init(from record: JSONObject) { self.init(text: record["text"].string()) }
}

@Test func `a record is an object that begins with its schema version`() throws {
    let note = Note(text: "a")
    #expect(text(of: note) == #"{"v":2,"text":"a"}"#)
    #expect(try Note.decode(note.encoded(), with: JSONReader()) == note)
}

@Test func `unknown fields are ignored, but a later version is refused`() throws {
    let earlier = #"{"v":1,"text":"a","new":{"x":[1]}}"#
    #expect(try Note.decode(Array(earlier.utf8), with: JSONReader()) == Note(text: "a"))
    #expect(throws: RecordDecodingError.unknownVersion(3, known: 2)) {
        try Note.decode(Array(#"{"v":3,"text":"a"}"#.utf8), with: JSONReader())
    }
    #expect(problems(reading: Note.self, from: "{}") == ["v missing", "text missing"])
    #expect(problems(reading: Note.self, from: "") == [" empty"])
}
