internal import Lifecycle

extension Command {
    /// `flotilla sealing-keys`: makes the file that all processes of an installation need.
    static let sealingKeys = Command(
        name: "sealing-keys",
        summary: "Makes a file of keys that encrypt push tokens; every process needs the same file.",
        usage: "make FILE", example: "flotilla sealing-keys make /etc/flotilla/sealing-keys"
    ) { invocation in
        guard invocation.words.first == "make", invocation.words.count == 2 else {
            throw Refusal(status: .usage, "use make with the path of the new file")
        }
        let file = invocation.words[1]
        try SealingKeyFile.makeNew(file)
        print("made \(file); keep a copy in a safe place, because tokens are lost without the keys")
    }
}
