// The calls about users, reports, the console and the process itself.

extension OpenAPI {
    private static let userParameter = ##""parameters":[{"$ref":"#/components/parameters/user"}]"##

    static let otherPaths = #"""
        "/v1/users/{id}/profile":{"put":{
          "operationId":"putProfile",
          "summary":"Sets tags and attributes of a user, for all of the user's installations.",
          "description":"Role send.",
          "security":[{"bearer":[]}],
          \#(userParameter),
          \#(body(schema: "profile")),
          "responses":{
            \#(response(202, schema: "userAccepted", meaning: "Stored.")),
            \#(refusals(body: true))
          }
        }},
        "/v1/users/{id}":{
          \#(getUser),
          "delete":{
            "operationId":"eraseUser",
            "summary":"Erases a user everywhere.",
            "description":"Role send.",
            "security":[{"bearer":[]}],
            \#(userParameter),
            "responses":{
              \#(response(202, schema: "userAccepted", meaning: "Stored. No push by token reaches the user any more. Other records expire as listed.")),
              \#(refusals())
            }
          }
        },
        "/v1/reports":{"post":{
          "operationId":"report",
          "summary":"Stores reports of phones: one report, or an array of up to 1,000.",
          "description":"Role report.",
          "security":[{"bearer":[]}],
          \#(body(schema: "reports")),
          "responses":{
            \#(response(202, schema: "reportsTaken", meaning: "The valid reports are stored. The others are listed with their problems.")),
            \#(refusals(body: true))
          }
        }},
        "/console":{"get":{
          "operationId":"console",
          "summary":"The console.",
          "responses":{
            "200":{"description":"The page.","content":{"text/html":{"schema":{"type":"string"}}}}
          }
        }},
        "/":{"get":{
          "operationId":"root",
          "summary":"Leads to the console.",
          "responses":{"302":{"description":"Location is the console."}}
        }},
        "/console/":{"get":{
          "operationId":"consoleFolder",
          "summary":"Leads to the console.",
          "responses":{"302":{"description":"Location is the console."}}
        }},
        "/console/{file}":{"get":{
          "operationId":"consoleFile",
          "summary":"A file of the console.",
          "parameters":[{"name":"file","in":"path","required":true,"schema":{"type":"string"}}],
          "responses":{
            "200":{"description":"The file."},
            "304":{"description":"The file has not changed."},
            "400":{"$ref":"#/components/responses/badRequest"},
            "404":{"$ref":"#/components/responses/notFound"}
          }
        }},
        "/console/session":{
          "post":{
            "operationId":"logIn",
            "summary":"Starts a console session of a browser.",
            "description":"Role read. The answer sets the cookie. Calls with the cookie must send the token in the header flotilla-console.",
            "security":[{"bearer":[]}],
            "responses":{\#(response(200, schema: "session", meaning: "Logged in.")),\#(refusals())}
          },
          "get":{
            "operationId":"session",
            "summary":"The session of an app, and the sessions of the browser's other apps.",
            "parameters":[{"name":"app","in":"query","required":false,"schema":{"type":"string"}}],
            "responses":{
              \#(response(200, schema: "session", meaning: "The session's key.")),
              "204":{"description":"No session."},
              "401":{"$ref":"#/components/responses/unauthorized"},
              "403":{"$ref":"#/components/responses/forbidden"}
            }
          },
          "delete":{
            "operationId":"logOut",
            "summary":"Deletes the cookie of the session whose token the request has.",
            "responses":{"204":{"description":"Done."},"403":{"$ref":"#/components/responses/forbidden"}}
          }
        },
        "/v1/openapi.json":{"get":{
          "operationId":"openapi",
          "summary":"This document.",
          "responses":{
            "200":{
              "description":"The document.",
              "content":{"application/json":{"schema":{"type":"object"}}}
            },
            "408":{"$ref":"#/components/responses/limit"}
          }
        }},
        "/livez":{"get":{
          "operationId":"livez",
          "summary":"Whether the process is alive. It does not depend on Kafka.",
          "responses":{"200":{"description":"alive","content":{"text/plain":{"schema":{"type":"string"}}}}}
        }},
        "/readyz":{"get":{
          "operationId":"readyz",
          "summary":"Whether the gateway accepts work, and the reasons if it does not.",
          "responses":{
            "200":{"description":"ready","content":{"text/plain":{"schema":{"type":"string"}}}},
            "503":{
              "description":"not ready, with the reasons",
              "content":{"text/plain":{"schema":{"type":"string"}}}
            }
          }
        }}
        """#

    static let sessionSchemas = #"""
        "session":{
          "type":"object",
          "required":["app","keyId","role","endsAt","token"],
          "additionalProperties":false,
          "properties":{
            "app":{"type":"string"},
            "keyId":{"type":"string"},
            "keyName":{"type":"string"},
            "role":{"enum":["read","send","admin"]},
            "endsAt":{"type":"integer"},
            "token":{"type":"string"},
            "others":{
              "type":"array",
              "description":"The sessions of the same browser with keys of other apps.",
              "items":{"$ref":"#/components/schemas/session"}
            }
          }
        }
        """#

    static let reportSchemas = #"""
        "profile":{
          "type":"object",
          "additionalProperties":false,
          "minProperties":1,
          "properties":{
            "tags":{"type":"array","maxItems":100,"items":{"$ref":"#/components/schemas/name"}},
            "attributes":{"type":"object","description":"At most 16 KiB, 8 levels."}
          }
        },
        "userAccepted":{
          "type":"object",
          "required":["userId","accepted"],
          "additionalProperties":false,
          "properties":{
            "userId":{"type":"string"},
            "accepted":{"const":true},
            "remaining":{
              "type":"array",
              "description":"After an erasure: the places that still name the user, what lies there, and until when, in milliseconds since 1970. On a quiet topic Kafka deletes a record up to the topic's segment.ms later.",
              "items":{
                "type":"object",
                "required":["where","what"],
                "additionalProperties":false,
                "properties":{
                  "where":{"type":"string"},
                  "what":{"type":"string"},
                  "until":{"type":"integer"}
                }
              }
            }
          }
        },
        "reports":{
          "description":"The page about records in the book lists the fields of a report.",
          "oneOf":[
            {"type":"object","required":["kind"]},
            {"type":"array","minItems":1,"maxItems":1000,"items":{"type":"object"}}
          ]
        },
        "reportsTaken":{
          "type":"object",
          "required":["accepted","refused"],
          "properties":{
            "accepted":{"type":"integer"},
            "refused":{"type":"array"},
            "taps":{
              "type":"array",
              "description":"The activity of each reported tap, the send behind its newest push, and the schedule behind that send.",
              "items":{
                "type":"object",
                "required":["index"],
                "additionalProperties":false,
                "properties":{
                  "index":{"type":"integer"},
                  "activityId":{"type":"string"},
                  "sendId":{"type":"string"},
                  "scheduleId":{"type":"string"},
                  "scheduleName":{"type":"string"}
                }
              }
            }
          }
        }
        """#
}
