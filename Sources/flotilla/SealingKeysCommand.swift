internal import Lifecycle

extension Command {
    /// Whoever runs stages by themselves gives all of them the same file.
    static let sealingKeys = Command(
        name: "sealing-keys",
        summary: "Makes a file of keys that seal push tokens, the same for every process.",
        usage: "make FILE", example: "flotilla sealing-keys make /etc/flotilla/sealing-keys"
    ) { invocation in
        guard invocation.words.first == "make", invocation.words.count == 2 else {
            throw Refusal(status: .usage, "say make, and the file that shall be made")
        }
        let file = invocation.words[1]
        try SealingKeyFile.makeNew(file)
        print("made \(file); a copy in a safe place keeps sealed tokens readable")
    }
}
