internal import CatalogRecords
internal import Members

// The calls about webhook endpoints.

extension OpenAPI {
    static let webhookPaths = ##"""
        "/v1/webhooks":{"get":{
          "operationId":"listWebhooks",
          "summary":"All webhook endpoints of the app.",
          "description":"Role admin.",
          "security":[{"bearer":[]}],
          "responses":{
            \##(response(200, schema: "webhooks", meaning: "All of them, by name.")),
            \##(refusals())
          }
        }},
        "/v1/webhooks/{name}/deliveries":{"get":{
          "operationId":"listDeliveries",
          "summary":"The newest calls of one webhook endpoint, the newest first.",
          "description":"Role admin. Each process of the stage remembers its last \##(WebhookDelivery.perEndpointMax) calls of an endpoint, and publishes them every 10 s. Answered by the insight stage.",
          "security":[{"bearer":[]}],
          "parameters":[
            {"$ref":"#/components/parameters/webhookName"},
            {"name":"outcome","in":"query","required":false,"schema":{"enum":["all","delivered","failed","given_up","gone"]}},
            {"name":"limit","in":"query","required":false,"schema":{"type":"integer","minimum":1,"maximum":500,"default":50}},
            {"name":"cursor","in":"query","required":false,"schema":{"type":"string"}}
          ],
          "responses":{
            \##(response(200, schema: "deliveries", meaning: "A page of calls.")),
            \##(refusals(missing: true))
          }
        }},
        "/v1/webhooks/{name}":{
          "get":{
            "operationId":"showWebhook",
            "summary":"Shows one webhook endpoint.",
            "description":"Role admin.",
            "security":[{"bearer":[]}],
            "parameters":[{"$ref":"#/components/parameters/webhookName"}],
            "responses":{
              \##(response(200, schema: "webhook", meaning: "The current endpoint, without its secret.")),
              \##(refusals(missing: true))
            }
          },
          "put":{
            "operationId":"putWebhook",
            "summary":"Creates, replaces or enables one webhook endpoint.",
            "description":"Role admin. The answer to a creation has the secret that signs the calls, once. Later answers do not have it. An existing endpoint keeps its secret and is enabled.",
            "security":[{"bearer":[]}],
            "parameters":[{"$ref":"#/components/parameters/webhookName"}],
            \##(body(schema: "webhookBody")),
            "responses":{
              \##(response(200, schema: "webhook", meaning: "The new endpoint.")),
              \##(refusals(body: true, conflict: true))
            }
          },
          "delete":{
            "operationId":"deleteWebhook",
            "summary":"Deletes one webhook endpoint.",
            "description":"Role admin.",
            "security":[{"bearer":[]}],
            "parameters":[{"$ref":"#/components/parameters/webhookName"}],
            "responses":{
              "204":{"description":"The endpoint was deleted."},
              \##(refusals(missing: true, conflict: true))
            }
          }
        }
        """##

    private static let webhookTypes = WebhookEventType.allCases.map { "\"\($0.rawValue)\"" }.joined(
        separator: ",")

    static let webhookSchemas = ##"""
        "webhookBody":{
          "type":"object",
          "required":["url"],
          "additionalProperties":false,
          "properties":{
            "url":{
              "type":"string",
              "maxLength":\##(WebhookURL.bytesMax),
              "pattern":"^https://",
              "description":"The URL that is called. It must have a certificate that the installation trusts, and public addresses."
            },
            "events":{
              "type":"array",
              "minItems":1,
              "maxItems":\##(WebhookEventType.allCases.count),
              "items":{"type":"string","enum":[\##(webhookTypes)]},
              "description":"The types of events that the endpoint receives. If events is omitted, it receives all types."
            }
          }
        },
        "webhook":{
          "type":"object",
          "required":["name","url","events","createdAt","secretCreatedAt"],
          "additionalProperties":false,
          "properties":{
            "name":{"type":"string"},
            "url":{"type":"string"},
            "events":{"type":"array","items":{"type":"string"}},
            "createdAt":{"type":"integer","description":"Milliseconds since 1970. The endpoint receives events from then on."},
            "secretCreatedAt":{"type":"integer","description":"Milliseconds since 1970."},
            "disabledAt":{"type":"integer","description":"Milliseconds since 1970. Missing while the endpoint is enabled."},
            "disabledBecause":{"type":"string"},
            "replayedAt":{"type":"integer","description":"Milliseconds since 1970. The time of the newest replay."},
            "secret":{"type":"string","description":"Only in the answer to a creation: whsec_ and the key in Base64."}
          }
        },
        "deliveries":{
          "type":"object",
          "required":["items"],
          "properties":{
            "items":{
              "type":"array",
              "items":{
                "type":"object",
                "required":["eventId","type","at","milliseconds","outcome","attempt"],
                "properties":{
                  "eventId":{"type":"string","description":"The webhook-id of the call."},
                  "type":{"type":"string"},
                  "at":{"type":"integer","description":"The end of the call, in milliseconds since 1970."},
                  "milliseconds":{"type":"integer","description":"The duration of the call."},
                  "outcome":{"enum":["delivered","failed","given_up","gone"]},
                  "attempt":{"type":"integer","description":"The number of the attempt, from 1."},
                  "reason":{"type":"string","description":"The reason of a failure."},
                  "nextAttemptAt":{"type":"integer","description":"The time of the next attempt, in milliseconds since 1970."}
                }
              }
            },
            "next":{"type":"string"}
          }
        },
        "webhooks":{
          "type":"object",
          "required":["items"],
          "additionalProperties":false,
          "properties":{"items":{"type":"array","items":{"$ref":"#/components/schemas/webhook"}}}
        }
        """##
}
